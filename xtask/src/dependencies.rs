//! Which crate may use which: the invariants of ADR 0001.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{process, workspace};

/// For each crate, the crates of this workspace that it may use. The order gives the direction: a crate only uses
/// crates named above it.
const MAY_USE: &[(&str, &[&str])] = &[
    ("pagemill-types", &[]),
    ("pagemill-report", &[]),
    ("pagemill-trace", &[]),
    ("pagemill-map", &[]),
    ("pagemill-linux", &["pagemill-types"]),
    ("pagemill-policy", &["pagemill-types"]),
    ("pagemill-gpu", &["pagemill-types", "pagemill-policy"]),
    ("pagemill-gpu-front", &["pagemill-gpu"]),
    ("pagemill-ptx", &["pagemill-types"]),
    (
        "pagemill-sim",
        &[
            "pagemill-types",
            "pagemill-map",
            "pagemill-policy",
            "pagemill-ptx",
        ],
    ),
    (
        "pagemill-workloads",
        &["pagemill-types", "pagemill-ptx", "pagemill-sim"],
    ),
    (
        "pagemill-scenario",
        &[
            "pagemill-types",
            "pagemill-policy",
            "pagemill-ptx",
            "pagemill-sim",
            "pagemill-workloads",
            "pagemill-report",
            "pagemill-trace",
        ],
    ),
    ("pagemill-mapping", &["pagemill-linux"]),
    ("pagemill-zero-client", &["pagemill-linux"]),
    (
        "pagemill-zero-cabi",
        &["pagemill-linux", "pagemill-zero-client"],
    ),
    (
        "pagemill-zero-preload",
        &["pagemill-linux", "pagemill-mapping", "pagemill-zero-client"],
    ),
    (
        "pagemill-zero",
        &[
            "pagemill-types",
            "pagemill-policy",
            "pagemill-linux",
            "pagemill-gpu",
            "pagemill-zero-client",
            "pagemill-report",
        ],
    ),
    (
        "pagemill-color-preload",
        &["pagemill-linux", "pagemill-mapping"],
    ),
    (
        "pagemill-pager",
        &["pagemill-types", "pagemill-policy", "pagemill-linux"],
    ),
    ("pagemill-pager-cabi", &["pagemill-pager"]),
    (
        "pagemill-pager-preload",
        &["pagemill-linux", "pagemill-mapping", "pagemill-pager"],
    ),
    (
        "pagemill-color",
        &["pagemill-types", "pagemill-policy", "pagemill-linux"],
    ),
    (
        "pagemill-cudart",
        &[
            "pagemill-linux",
            "pagemill-types",
            "pagemill-ptx",
            "pagemill-sim",
            "pagemill-scenario",
        ],
    ),
    (
        "pagemill-fabric",
        &[
            "pagemill-linux",
            "pagemill-types",
            "pagemill-map",
            "pagemill-policy",
            "pagemill-sim",
        ],
    ),
    (
        "pagemill-run",
        &[
            "pagemill-types",
            "pagemill-map",
            "pagemill-ptx",
            "pagemill-policy",
            "pagemill-gpu",
            "pagemill-linux",
            "pagemill-sim",
            "pagemill-workloads",
            "pagemill-scenario",
            "pagemill-report",
            "pagemill-trace",
            "pagemill-cudart",
        ],
    ),
    (
        "pagemill-playground",
        &[
            "pagemill-policy",
            "pagemill-workloads",
            "pagemill-scenario",
            "pagemill-report",
            "pagemill-run",
        ],
    ),
    (
        "pagemill-python",
        &[
            "pagemill-types",
            "pagemill-policy",
            "pagemill-ptx",
            "pagemill-sim",
            "pagemill-trace",
            "pagemill-workloads",
            "pagemill-scenario",
            "pagemill-report",
            "pagemill-run",
        ],
    ),
    (
        "pagemill-cli",
        &[
            "pagemill-types",
            "pagemill-map",
            "pagemill-policy",
            "pagemill-gpu",
            "pagemill-ptx",
            "pagemill-sim",
            "pagemill-workloads",
            "pagemill-scenario",
            "pagemill-report",
            "pagemill-trace",
            "pagemill-linux",
            "pagemill-zero-client",
            "pagemill-zero",
            "pagemill-color",
            "pagemill-cudart",
            "pagemill-fabric",
            "pagemill-run",
            "pagemill-pager",
        ],
    ),
    (
        "pagemill-fuzz",
        &[
            "pagemill-color",
            "pagemill-cudart",
            "pagemill-fabric",
            "pagemill-linux",
            "pagemill-map",
            "pagemill-pager",
            "pagemill-policy",
            "pagemill-ptx",
            "pagemill-report",
            "pagemill-scenario",
            "pagemill-sim",
            "pagemill-trace",
            "pagemill-types",
            "pagemill-zero-client",
        ],
    ),
    (
        "pagemill-testkit",
        &["pagemill-types", "pagemill-policy", "pagemill-linux"],
    ),
    ("pagemill-vm", &["pagemill-linux"]),
    ("xtask", &["pagemill-vm"]),
];

/// The folders of `crates/`. A crate uses crates of its own street and of the streets named before it.
const STREETS: [&str; 7] = ["core", "sim", "linux", "cuda", "net", "lab", "dev"];

/// How values of types get into files and messages; it decides nothing.
const VALUES_IN_FILES: &str = "serde";

/// Crates whose non-test code uses nothing but the standard library and crates of ours.
const SELF_SUFFICIENT: [&str; 2] = ["pagemill-types", "pagemill-policy"];

/// Dependencies that only switch on features of others, or only have to be built, by crate.
const BY_FEATURE_ONLY: [(&str, &str); 10] = [
    ("pagemill-python", "getrandom"),
    ("pagemill-python", "libc"),
    ("pagemill-python", "memchr"),
    ("pagemill-python", "num-bigint"),
    ("pagemill-python", "rustix"),
    ("pagemill-python", "serde_json"),
    ("pagemill-python", "twox-hash"),
    ("pagemill-cli", "pagemill-pager-preload"),
    ("pagemill-cli", "pagemill-color-preload"),
    ("xtask", "proc-macro2"),
];

/// Only tests use it.
const FOR_TESTS_ONLY: &str = "pagemill-testkit";

/// Checks the workspace as `cargo metadata` describes it.
pub fn check() -> Result<()> {
    let breaches = breaches(&metadata()?)?;
    if !breaches.is_empty() {
        bail!(
            "{}\nsee ARCHITECTURE.md and xtask/src/dependencies.rs",
            breaches.join("\n")
        );
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

fn breaches(metadata: &Value) -> Result<Vec<String>> {
    let rules: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    let streets = streets(metadata)?;
    let mut breaches = Vec::new();
    for package in packages(metadata)? {
        let name = package["name"].as_str().context("a package has no name")?;
        let Some(may_use) = rules.get(name) else {
            breaches.push(format!(
                "crate {name} has no line in MAY_USE: say what it may use"
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
fn breach(name: &str, may_use: &[&str], used: &str, used_is_ours: bool) -> Option<String> {
    if used == FOR_TESTS_ONLY {
        Some(format!(
            "{name} uses {used} outside of tests: make it a dev-dependency"
        ))
    } else if used_is_ours && !may_use.contains(&used) {
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
        breaches(&metadata).unwrap()
    }

    #[test]
    fn the_table_has_no_cycle() {
        for (index, (name, may_use)) in MAY_USE.iter().enumerate() {
            for used in *may_use {
                let above = MAY_USE[..index].iter().any(|(other, _)| other == used);
                assert!(above, "{name} may use {used}, which is not above it");
            }
        }
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
        assert!(one("pagemill-new", "pagemill-types", None)[0].contains("no line in MAY_USE"));
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
            breaches(&metadata).map(|breaches| breaches.len())
        };
        assert_eq!(found("sim", "sim").unwrap(), 0);
        assert_eq!(found("cuda", "sim").unwrap(), 0);
        assert_eq!(found("sim", "cuda").unwrap(), 1);
        assert!(found("sim", "attic").is_err());
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
