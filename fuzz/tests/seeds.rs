//! Every target on its seeds, on the files of the tree, and on parts of them: what a fuzzer starts from, without one.

use std::path::{Path, PathBuf};

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
