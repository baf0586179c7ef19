//! What a release is made of: every crate that is compiled into it, in the form of CycloneDX 1.5.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
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

/// Writes `pagemill.cdx.json` into `folder`.
pub fn add(folder: &Path) -> Result<PathBuf> {
    let told = process::output(&mut cargo(&[
        "metadata",
        "--locked",
        "--format-version=1",
        "--filter-platform",
        &format!("{}-unknown-linux-gnu", std::env::consts::ARCH),
    ]))?;
    let metadata: Value = serde_json::from_str(&told).context("cargo metadata wrote no JSON")?;
    let compiled_in = compiled_in(&metadata["resolve"]["nodes"]);
    let packages = metadata["packages"].as_array().context("no packages")?;
    let parts = packages
        .iter()
        .filter(|package| compiled_in.contains(text(package, "id")));
    let mut components: Vec<Value> = parts.map(component).collect();
    components.sort_by_key(|component| component["purl"].to_string());
    let parts = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": "pagemill", "version": env!("CARGO_PKG_VERSION") } },
        "components": components,
    });
    let path = folder.join("pagemill.cdx.json");
    write(&path, &format!("{parts:#}\n"))?;
    Ok(path)
}

/// The crates that the released ones need when they run: not those of tests and of builds.
fn compiled_in(nodes: &Value) -> BTreeSet<&str> {
    let nodes = nodes.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut found = BTreeSet::new();
    let is_released = |id: &&str| {
        RELEASED
            .iter()
            .any(|name| id.contains(&format!("/{name}#")))
    };
    let mut left: Vec<&str> = nodes.iter().map(|node| text(node, "id")).collect();
    left.retain(|id| is_released(id));
    while let Some(id) = left.pop() {
        if !found.insert(id) {
            continue;
        }
        let node = nodes.iter().find(|node| text(node, "id") == id);
        let needs = node.and_then(|node| node["deps"].as_array());
        left.extend(
            (needs.into_iter().flatten())
                .filter(|need| {
                    let kinds = need["dep_kinds"].as_array();
                    kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
                })
                .map(|need| text(need, "pkg")),
        );
    }
    found
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn component(package: &Value) -> Value {
    let text = |key| text(package, key);
    let (name, version) = (text("name"), text("version"));
    let mut component = json!({
        "type": "library",
        "name": name,
        "version": version,
        "purl": format!("pkg:cargo/{name}@{version}"),
    });
    if !text("license").is_empty() {
        component["licenses"] = json!([{ "expression": text("license") }]);
    }
    component
}
