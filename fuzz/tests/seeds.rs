//! Every target on its seeds, on the files of the tree, on parts of them, and on what fuzzers found: what a fuzzer starts from,
//! without one.

use std::path::{Path, PathBuf};
use std::process::Command;

use pagemill_fuzz::TARGETS;

/// Prefixes of each seed that are tried as well.
const PREFIXES: usize = 16;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

#[test]
fn no_target_fails_on_its_seeds_or_on_parts_of_them() {
    for (name, target) in TARGETS {
        let mut seeds = files(&root().join("fuzz/seeds").join(name));
        match name {
            "scenario" => seeds.extend(files(&root().join("scenarios"))),
            "machine" => seeds.extend(files(&root().join("machines"))),
            _ => {}
        }
        assert!(!seeds.is_empty(), "{name} has seeds");
        for seed in seeds {
            let bytes = std::fs::read(&seed).expect("a seed");
            for part in 0..=PREFIXES {
                target(&bytes[..bytes.len() * part / PREFIXES]);
            }
            let backwards: Vec<u8> = bytes.iter().rev().copied().collect();
            target(&backwards);
        }
    }
}

#[test]
fn no_target_fails_on_what_fuzzers_found() {
    for (name, target) in TARGETS {
        let packed = root().join(format!("fuzz/corpora/{name}.tar.gz"));
        if !packed.exists() {
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(&packed).arg("-C").arg(folder.path());
        assert!(tar.status().expect("tar is there").success(), "{name}");
        let found = files_below(folder.path());
        assert!(!found.is_empty(), "{name} has inputs");
        for input in found {
            target(&std::fs::read(input).expect("an input"));
        }
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = files(folder);
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            found.extend(files_below(&entry.path()));
        }
    }
    found
}
