//! What a release is made of: every crate that is compiled into it, in the form of CycloneDX 1.5.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::files::write;
use crate::process::{self, cargo};

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
    let packages = metadata["packages"].as_array().context("no packages")?;
    let mut components: Vec<Value> = packages.iter().map(component).collect();
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

fn component(package: &Value) -> Value {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
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
