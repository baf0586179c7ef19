//! What a release is made of: every crate that is compiled into it, in the form of CycloneDX 1.5.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

use super::files::write;
use crate::process::{self, cargo};

/// The command, the Python package, and the libraries that are not the command's dependencies.
const RELEASED: [&str; 9] = [
    "pagemill-cli",
    "pagemill-python",
    "pagemill-cudart",
    "pagemill-fabric",
    "pagemill-gpu-front",
    "pagemill-pager-preload",
    "pagemill-color-preload",
    "pagemill-zero-preload",
    "pagemill-zero-cabi",
];

/// Writes `pagemill.cdx.json` into `folder`: the crates that the released ones need when they run, not those of tests and of builds.
pub fn add(folder: &Path) -> Result<PathBuf> {
    let mut tree = cargo(&["tree", "--locked", "--edges=normal", "--prefix=none"]);
    tree.arg("--format={p}|{l}");
    tree.args(RELEASED.map(|name| format!("--package={name}")));
    let told = process::output(&mut tree)?;
    let parts: BTreeMap<String, Value> = told.lines().filter_map(component).collect();
    let parts = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": "pagemill", "version": env!("CARGO_PKG_VERSION") } },
        "components": parts.into_values().collect::<Vec<_>>(),
    });
    let path = folder.join("pagemill.cdx.json");
    write(&path, &format!("{parts:#}\n"))?;
    Ok(path)
}

/// A line of the tree, `NAME vVERSION (..)|LICENSE (*)`, as a component, by its address.
fn component(line: &str) -> Option<(String, Value)> {
    let (package, license) = line.split_once('|')?;
    let (name, version) = package.split_once(" v")?;
    let version = version.split(' ').next()?;
    let purl = format!("pkg:cargo/{name}@{version}");
    let mut component =
        json!({ "type": "library", "name": name, "version": version, "purl": purl });
    let license = license.trim_end_matches(" (*)");
    if !license.is_empty() {
        component["licenses"] = json!([{ "expression": license }]);
    }
    Some((purl, component))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_tree_is_a_part() {
        let (purl, part) = component("half v2.7.1|MIT OR Apache-2.0 (*)").unwrap();
        assert_eq!(purl, "pkg:cargo/half@2.7.1");
        assert_eq!(part["licenses"][0]["expression"], "MIT OR Apache-2.0");
        let (purl, _) = component("pagemill-map v0.2.0 (crates/core/pagemill-map)|MIT").unwrap();
        assert_eq!(purl, "pkg:cargo/pagemill-map@0.2.0");
        assert_eq!(component(""), None);
    }
}
