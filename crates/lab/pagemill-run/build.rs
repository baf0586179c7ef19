//! `PAGEMILL_BUILD`: distinguishes this build's results from those of other sources of the same version.
//!
//! A digest of everything that a result depends on: the sources of this crate and of ours that it uses, the built-in programs,
//! and the versions of all others. Profile and target are no part of it: results do not depend on them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Enough that no two builds of one version agree by chance.
const DIGITS: usize = 16;

fn main() {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    // Crates are in streets: `crates/lab/pagemill-run`.
    let crates = own.ancestors().nth(2).unwrap_or(&own).to_path_buf();
    let mut watched = Vec::new();
    for folder in crates_used(&crates, "pagemill-run") {
        watched.push(folder.join("Cargo.toml"));
        watched.push(folder.join("src"));
    }
    watched.push(crates.join("../workloads"));
    watched.push(crates.join("../Cargo.lock"));
    let mut digest = Sha256::new();
    for path in watched.iter().filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", path.display());
        add(&mut digest, &crates, path);
    }
    println!("cargo::rerun-if-changed=build.rs");
    let digits = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>();
    println!("cargo::rustc-env=PAGEMILL_BUILD={}", &digits[..DIGITS]);
}

/// The folders of `first` and of every crate of ours below it.
fn crates_used(crates: &Path, first: &str) -> BTreeSet<PathBuf> {
    let streets: Vec<PathBuf> = paths_in(crates);
    let mut used = BTreeSet::new();
    let mut open = vec![first.to_owned()];
    while let Some(name) = open.pop() {
        let mut folders = streets.iter().map(|street| street.join(&name));
        let Some(folder) = folders.find(|folder| folder.exists()) else {
            println!("cargo::error=no crate {name} in {}", crates.display());
            continue;
        };
        let manifest = fs::read_to_string(folder.join("Cargo.toml"));
        if used.insert(folder) {
            open.extend(dependencies(&manifest.unwrap_or_default()));
        }
    }
    used
}

/// What a folder holds, in the order of the names.
fn paths_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The crates of ours under `[dependencies]` in a manifest, and under those of its targets.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut is_wanted = false;
    let entries = manifest.lines().filter(|line| {
        if line.starts_with('[') {
            let section = line.trim();
            is_wanted = section == "[dependencies]"
                || (section.starts_with("[target.") && section.ends_with(".dependencies]"));
        }
        is_wanted
    });
    let names = entries.filter_map(|line| line.split(['.', ' ', '=']).next());
    names
        .filter(|name| name.starts_with("pagemill-"))
        .map(str::to_owned)
        .collect()
}

/// Adds a file, or all files of a folder in the order of their names, each with its name and length.
fn add(digest: &mut Sha256, root: &Path, path: &Path) {
    if path.is_dir() {
        let paths = paths_in(path);
        paths.iter().for_each(|path| add(digest, root, path));
        return;
    }
    let Ok(bytes) = fs::read(path) else {
        println!("cargo::error=cannot read {}", path.display());
        return;
    };
    let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
    digest.update(format!("{name}\n{}\n", bytes.len()));
    digest.update(&bytes);
}
