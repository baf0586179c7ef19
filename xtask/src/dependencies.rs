//! Which crate may use which: the invariants of ADR 0001, as the table of ARCHITECTURE.md has them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::{process, workspace};

/// The document whose table says what each crate may use.
const MAP: &str = include_str!("../../ARCHITECTURE.md");

/// Our own commands, which the table leaves out: they may use what they build and test.
const COMMANDS: [&str; 2] = ["pagemill-fuzz", "xtask"];

/// For each crate, the crates that it may use.
type Rules = BTreeMap<String, BTreeSet<String>>;

/// The folders of `crates/`. A crate uses crates of its own street and of the streets named before it.
const STREETS: [&str; 7] = ["core", "pages", "linux", "net", "cuda", "lab", "dev"];

/// How values of types get into files and messages; it decides nothing.
const VALUES_IN_FILES: &str = "serde";

/// Crates whose non-test code uses nothing but the standard library and crates of ours.
const SELF_SUFFICIENT: [&str; 2] = ["pagemill-types", "pagemill-policy"];

/// Dependencies that only switch on features of others, or only have to be built, by crate.
const BY_FEATURE_ONLY: [(&str, &str); 11] = [
    ("pagemill-python", "getrandom"),
    ("pagemill-python", "libc"),
    ("pagemill-python", "memchr"),
    ("pagemill-python", "num-bigint"),
    ("pagemill-python", "rustix"),
    ("pagemill-python", "serde_json"),
    ("pagemill-python", "twox-hash"),
    ("pagemill-cli", "pagemill-cudart"),
    ("pagemill-cli", "pagemill-pager-preload"),
    ("pagemill-cli", "pagemill-color-preload"),
    ("xtask", "proc-macro2"),
];

/// Only tests use it.
const FOR_TESTS_ONLY: &str = "pagemill-testkit";

/// Checks the workspace as `cargo metadata` describes it.
pub fn check() -> Result<()> {
    let breaches = breaches(&metadata()?, &may_use(MAP)?)?;
    if !breaches.is_empty() {
        bail!("{}\nsee the table of ARCHITECTURE.md", breaches.join("\n"));
    }
    Ok(())
}

/// What `cargo metadata` says of the workspace.
pub fn metadata() -> Result<Value> {
    let metadata = process::output(&mut process::cargo(&[
        "metadata",
        "--no-deps",
        "--format-version",
        "1",
    ]))?;
    serde_json::from_str(&metadata).context("`cargo metadata` wrote no JSON")
}

/// What `cargo metadata` lists.
pub fn packages(metadata: &Value) -> Result<&Vec<Value>> {
    metadata["packages"]
        .as_array()
        .context("`cargo metadata` lists no packages")
}

fn dependencies(package: &Value) -> Result<&Vec<Value>> {
    package["dependencies"]
        .as_array()
        .context("a package has no dependency list")
}

/// Checks that each crate's sources name each of its dependencies, and that examples in its documentation are looked for where
/// there are some: rustdoc reads the whole crate for that.
pub fn check_use() -> Result<()> {
    let metadata = metadata()?;
    let mut unused = Vec::new();
    for package in packages(&metadata)? {
        let manifest = package["manifest_path"]
            .as_str()
            .context("a package has no manifest")?;
        let folder = Path::new(manifest)
            .parent()
            .context("a manifest has no folder")?;
        let name = package["name"].as_str().context("a package has no name")?;
        let sources = workspace::rust_text(folder)?;
        unused.extend(unnamed(name, dependencies(package)?, &sources));
        let targets = package["targets"].as_array();
        let is_tested =
            targets.is_some_and(|all| all.iter().any(|target| target["doctest"] == true));
        unused.extend(wrong_doctest(name, is_tested, &sources));
    }
    if !unused.is_empty() {
        bail!("{}", unused.join("\n"));
    }
    Ok(())
}

/// The dependencies that the `sources` of the crate `name` do not use.
fn unnamed(name: &str, dependencies: &[Value], sources: &str) -> Vec<String> {
    let keys = dependencies.iter().filter_map(|dependency| {
        let renamed = dependency["rename"].as_str();
        renamed.or(dependency["name"].as_str())
    });
    let unused = keys.filter(|key| {
        !BY_FEATURE_ONLY.contains(&(name, key)) && !names(sources, &key.replace('-', "_"))
    });
    unused
        .map(|key| format!("{name} never names its dependency {key}: remove it"))
        .collect()
}

/// What is wrong with `doctest` in the manifest of the crate `name`.
fn wrong_doctest(name: &str, is_tested: bool, sources: &str) -> Option<String> {
    let comments = sources.lines().map(str::trim_start);
    let mut fences = comments
        .filter_map(|line| {
            line.strip_prefix("/// ```")
                .or(line.strip_prefix("//! ```"))
        })
        .step_by(2);
    let has_examples = fences.any(|language| language != "text")
        || sources.contains("doc = include_str!(\"../README.md\")");
    let what = match (is_tested, has_examples) {
        (true, false) => "has no example in its documentation: set",
        (false, true) => "has examples in its documentation: remove",
        _ => return None,
    };
    Some(format!("{name} {what} `doctest = false` below [lib]"))
}

/// Whether `identifier` stands in `text` as a word.
fn names(text: &str, identifier: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(identifier).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + identifier.len()..].chars().next();
        ![before, after].into_iter().flatten().any(is_word)
    })
}

/// For each crate below `crates/`, the place of its street in the order of streets.
fn streets(metadata: &Value) -> Result<BTreeMap<&str, usize>> {
    let mut streets = BTreeMap::new();
    for package in packages(metadata)? {
        let [name, manifest] =
            ["name", "manifest_path"].map(|key| package[key].as_str().unwrap_or_default());
        let mut parts = manifest.rsplit('/').skip(2);
        if let (Some(street), Some("crates")) = (parts.next(), parts.next()) {
            let place = STREETS.iter().position(|known| *known == street);
            let place = place.with_context(|| format!("crates/{street} is no street"))?;
            streets.insert(name, place);
        }
    }
    Ok(streets)
}

/// Reads the code map: a crate may use what the last cell of its row names, crates and whole streets, and its own row.
fn may_use(document: &str) -> Result<Rules> {
    let quoted = |cell: &str| -> Vec<String> {
        let names = cell.split('`').skip(1).step_by(2);
        names.map(str::to_owned).collect()
    };
    let (mut rules, mut rows) = (Rules::new(), Vec::new());
    let mut street = String::new();
    for line in document.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [own_street, crates, _, may_use] = cells[..] else {
            continue;
        };
        let crates = quoted(crates);
        if crates.is_empty() {
            continue;
        }
        street = quoted(own_street).pop().unwrap_or(street);
        rows.extend(crates.iter().map(|name| (street.clone(), name.clone())));
        let mut used = BTreeSet::new();
        for word in may_use.split(", ").map(|word| word.trim_matches('`')) {
            let is_meant = |row: &&(String, String)| match word {
                "nothing" | "nothing of ours" => false,
                "everything above" => true,
                word => row.0 == word || row.1 == word,
            };
            let meant: Vec<_> = rows.iter().filter(is_meant).collect();
            ensure!(
                !meant.is_empty() || word.starts_with("nothing"),
                "ARCHITECTURE.md lets {} use {word}, which is not above it",
                crates.join(", ")
            );
            used.extend(meant.into_iter().map(|(_, name)| name.clone()));
        }
        used.extend(crates.iter().cloned());
        let named = |name: &String| format!("pagemill-{name}");
        let used: BTreeSet<String> = used.iter().map(named).collect();
        rules.extend(crates.iter().map(|name| (named(name), used.clone())));
    }
    Ok(rules)
}

fn breaches(metadata: &Value, rules: &Rules) -> Result<Vec<String>> {
    let streets = streets(metadata)?;
    let mut breaches = Vec::new();
    for package in packages(metadata)? {
        let name = package["name"].as_str().context("a package has no name")?;
        if COMMANDS.contains(&name) {
            continue;
        }
        let Some(may_use) = rules.get(name) else {
            breaches.push(format!(
                "crate {name} has no row in the table of ARCHITECTURE.md: say what it may use"
            ));
            continue;
        };
        let normal = dependencies(package)?
            .iter()
            .filter(|dependency| dependency["kind"].as_str() != Some("dev"));
        for used in normal.filter_map(|dependency| dependency["name"].as_str()) {
            breaches.extend(breach(name, may_use, used, rules.contains_key(used)));
            if let (Some(user), Some(street)) = (streets.get(name), streets.get(used))
                && street > user
            {
                let [user, street] = [user, street].map(|place| STREETS[*place]);
                breaches.push(format!(
                    "{name} of crates/{user} uses {used} of crates/{street}, which is later in the order of streets"
                ));
            }
        }
    }
    Ok(breaches)
}

/// Why the crate `name` must not use `used`, if so.
fn breach(
    name: &str,
    may_use: &BTreeSet<String>,
    used: &str,
    used_is_ours: bool,
) -> Option<String> {
    if used == FOR_TESTS_ONLY {
        Some(format!(
            "{name} uses {used} outside of tests: make it a dev-dependency"
        ))
    } else if used_is_ours && !may_use.contains(used) {
        Some(format!(
            "{name} uses {used}, against the direction of dependencies"
        ))
    } else if !used_is_ours && used != VALUES_IN_FILES && SELF_SUFFICIENT.contains(&name) {
        Some(format!(
            "{name} uses {used}: this crate stays free of other projects' crates"
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(name: &str, used: &str, kind: Option<&str>) -> Vec<String> {
        let metadata = json!({ "packages": [{ "name": name, "dependencies": [{ "name": used, "kind": kind }] }] });
        breaches(&metadata, &may_use(MAP).unwrap()).unwrap()
    }

    #[test]
    fn the_table_names_crates_and_streets_above() {
        let table =
            |last: &str| format!("| `core/` x | `a` | y | nothing |\n| | `b` | y | {last} |\n");
        let of_b = |last| may_use(&table(last)).map(|rules| rules["pagemill-b"].len());
        assert_eq!(of_b("nothing of ours").unwrap(), 1);
        for last in ["a", "`core/`", "everything above"] {
            assert_eq!(of_b(last).unwrap(), 2, "{last}");
        }
        assert!(of_b("c").unwrap_err().to_string().contains("not above it"));
    }

    #[test]
    fn a_dependency_against_the_direction_is_found() {
        assert!(one("pagemill-policy", "pagemill-sim", None)[0].contains("against the direction"));
        assert!(
            one("pagemill-report", "pagemill-types", None)[0].contains("against the direction")
        );
        assert!(one("pagemill-sim", "pagemill-testkit", None)[0].contains("outside of tests"));
        assert!(
            one("pagemill-sim", "pagemill-testkit", Some("build"))[0].contains("outside of tests")
        );
        assert!(one("pagemill-policy", "rand", None)[0].contains("free of other"));
        assert!(one("pagemill-new", "pagemill-types", None)[0].contains("no row in the table"));
    }

    #[test]
    fn a_crate_that_uses_a_later_street_is_found() {
        let package = |name: &str, street: &str, used: &[&str]| {
            let used: Vec<Value> = used.iter().map(|used| json!({ "name": used })).collect();
            let manifest = format!("/somewhere/crates/{street}/{name}/Cargo.toml");
            json!({ "name": name, "manifest_path": manifest, "dependencies": used })
        };
        let found = |user: &str, used: &str| {
            let sim = package("pagemill-sim", user, &["pagemill-ptx"]);
            let metadata = json!({ "packages": [sim, package("pagemill-ptx", used, &[])] });
            breaches(&metadata, &may_use(MAP).unwrap()).map(|breaches| breaches.len())
        };
        assert_eq!(found("pages", "pages").unwrap(), 0);
        assert_eq!(found("cuda", "pages").unwrap(), 0);
        assert_eq!(found("pages", "cuda").unwrap(), 1);
        assert!(found("pages", "attic").is_err());
    }

    #[test]
    fn an_unused_dependency_is_found() {
        let declared = [
            json!({ "name": "lz4-flex" }),
            json!({ "name": "libc", "rename": "c" }),
        ];
        let unused = |sources: &str| unnamed("pagemill-sim", &declared, sources);
        assert!(unused("use lz4_flex::block; use c::open;").is_empty());
        assert_eq!(unused("use lz4_flex2::block; use c::open;").len(), 1);
        assert!(unused("use lz4_flex::block; use libc::open;")[0].contains("dependency c:"));
    }

    #[test]
    fn examples_are_looked_for_where_there_are_some() {
        let text = "/// ```text\n/// a -> b\n/// ```\n";
        let example = format!("{text}//! ```no_run\n//! f();\n//! ```\n");
        let readme = concat!("#[doc = include_", "str!(\"../README.md\")]");
        assert_eq!(wrong_doctest("a", false, text), None);
        assert!(
            wrong_doctest("a", true, text)
                .unwrap()
                .contains("set `doctest")
        );
        for sources in [&example, readme] {
            assert_eq!(wrong_doctest("a", true, sources), None);
            assert!(
                wrong_doctest("a", false, sources)
                    .unwrap()
                    .contains("remove `doctest")
            );
        }
    }

    #[test]
    fn what_is_allowed_passes() {
        assert!(one("pagemill-sim", "pagemill-policy", None).is_empty());
        assert!(one("pagemill-policy", "pagemill-testkit", Some("dev")).is_empty());
        assert!(one("pagemill-policy", "proptest", Some("dev")).is_empty());
        assert!(one("pagemill-ptx", "half", None).is_empty());
    }
}
