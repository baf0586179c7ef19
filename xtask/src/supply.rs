//! Crates of other projects: where they come from, what their licenses demand, and that each is built once.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::dependencies::packages;
use crate::tally::Tally;
use crate::{process, workspace};

/// `deny.toml`, as far as it is checked here. `cargo deny check` looks at advisories too, for which it needs the network.
#[derive(Debug, Deserialize)]
struct Rules {
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Debug, Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Bans {
    skip: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

/// Checks every crate that any target of the workspace is built of.
pub fn check() -> Result<()> {
    let metadata = process::output(&mut process::cargo(&["metadata", "--format-version", "1"]))?;
    let metadata = serde_json::from_str(&metadata).context("`cargo metadata` wrote no JSON")?;
    let rules = std::fs::read_to_string(workspace::root().join("deny.toml"))?;
    let rules = toml::from_str(&rules).context("deny.toml")?;
    let breaches = breaches(&metadata, &rules)?;
    if !breaches.is_empty() {
        bail!("{}\nsee deny.toml", breaches.join("\n"));
    }
    Ok(())
}

/// Looks for advisories about these crates.
pub fn advisories(tally: &mut Tally) {
    let is_there = process::output(&mut process::cargo(&["deny", "--version"])).is_ok();
    match is_there {
        true => tally.check("advisories", || {
            process::run(&mut process::cargo(&["deny", "check", "advisories"]))
        }),
        false => tally.skip(
            "advisories",
            "there is no cargo-deny: cargo install cargo-deny",
        ),
    }
}

fn breaches(metadata: &Value, rules: &Rules) -> Result<Vec<String>> {
    let several = &rules.bans.skip;
    let mut breaches = Vec::new();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages(metadata)? {
        let text = |key: &str| package[key].as_str();
        let name = text("name").context("a package has no name")?;
        // Crates of this workspace have no source.
        let Some(source) = text("source") else {
            continue;
        };
        let version = text("version").context("a package has no version")?;
        versions.entry(name).or_default().insert(version);
        let registry = source.strip_prefix("registry+").unwrap_or_default();
        if !rules
            .sources
            .allow_registry
            .iter()
            .any(|known| known == registry)
        {
            breaches.push(format!(
                "{name} {version} comes from {source}: use a release on crates.io"
            ));
        }
        if !text("license").is_some_and(|license| allows(&rules.licenses.allow, license)) {
            breaches.push(format!(
                "{name} {version} has the license {}, which is not allowed",
                text("license").unwrap_or("of a file of its own")
            ));
        }
    }
    let is_several = |name: &str| versions.get(name).is_some_and(|found| found.len() > 1);
    for (name, found) in &versions {
        if is_several(name) && !several.iter().any(|own| own == name) {
            let found: Vec<&str> = found.iter().copied().collect();
            breaches.push(format!(
                "{name} is built in several versions ({}): agree on one",
                found.join(", ")
            ));
        }
    }
    let gone = several.iter().filter(|name| !is_several(name));
    breaches.extend(gone.map(|name| format!("{name} has one version: remove it from the list")));
    Ok(breaches)
}

/// Whether one of the choices that the SPDX expression offers is in the list, in each of its parts.
fn allows(licenses: &[String], expression: &str) -> bool {
    expression.split(" AND ").all(|part| {
        let choices = part.trim_matches(['(', ')']).replace('/', " OR ");
        choices
            .split(" OR ")
            .any(|choice| licenses.iter().any(|own| own == choice.trim()))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package(name: &str, version: &str, source: &str, license: Option<&str>) -> Value {
        json!({ "name": name, "version": version, "source": source, "license": license })
    }

    const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

    fn rules(several: &[&str]) -> Rules {
        let text = format!(
            "licenses.allow = [\"MIT\", \"Apache-2.0\", \"Unicode-3.0\"]\nbans.skip = {several:?}\nsources.allow-registry = [{:?}]",
            &REGISTRY[9..]
        );
        toml::from_str(&text).unwrap()
    }

    fn found(packages: &[Value], several: &[&str]) -> Vec<String> {
        breaches(&json!({ "packages": packages }), &rules(several)).unwrap()
    }

    #[test]
    fn a_license_that_demands_more_is_found() {
        let allows = |license| allows(&rules(&[]).licenses.allow, license);
        for allowed in [
            "MIT",
            "Apache-2.0 / MIT",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
        ] {
            assert!(allows(allowed), "{allowed}");
        }
        for refused in ["GPL-3.0-only", "MIT AND GPL-3.0-only", ""] {
            assert!(!allows(refused), "{refused}");
        }
        let copyleft = package("a", "1.0.0", REGISTRY, Some("GPL-3.0-only"));
        assert!(found(&[copyleft], &[])[0].contains("GPL-3.0-only"));
        let unsaid = package("a", "1.0.0", REGISTRY, None);
        assert!(found(&[unsaid], &[])[0].contains("license"));
    }

    #[test]
    fn a_crate_from_elsewhere_is_found() {
        let fork = package("a", "1.0.0", "git+https://example.org/a", Some("MIT"));
        assert!(found(&[fork], &[])[0].contains("git+https://example.org/a"));
    }

    #[test]
    fn a_second_version_is_found_and_so_is_an_entry_too_many() {
        let two = ["1.0.0", "2.0.0"].map(|version| package("a", version, REGISTRY, Some("MIT")));
        assert!(found(&two, &[])[0].contains("1.0.0, 2.0.0"));
        assert!(found(&two, &["a"]).is_empty());
        assert!(found(&two[..1], &[]).is_empty());
        assert!(found(&two[..1], &["a"])[0].contains("remove it"));
    }
}
