//! What to do about a program that did not use the runtime, as far as it was seen.

use std::path::Path;

use pagemill_wire::{REPLACED_NOTE, STRIPPED_NOTE};

const STRIPPED: &str = "it has NVIDIA's CUDA runtime inside and no symbols by which it could be replaced: link it with \
     `nvcc -cudart shared` (pip's nvcc first needs `ln -s libcudart.so.13 libcudart.so` in its `lib`, and `-L` of it), or keep \
     its symbols (no `strip`, no `-Xlinker -s`)";

const UNSEEN: &str = "name a program that uses CUDA. One with a shared runtime may have found another: see which libcudart.so \
     `ldd` shows, and whether it has an RPATH of its own. One that is linked with `-static` cannot be given another runtime: \
     link it with `nvcc -cudart shared`";

/// Why a program that left no results may not have found the runtime, and what a user should do about that, by the notes in
/// the folder that it had beside it. `None` where it had the runtime.
pub fn advice(folder: &Path) -> Option<String> {
    if let Ok(library) = std::fs::read_to_string(folder.join(STRIPPED_NOTE)) {
        return Some(match library.as_str() {
            "" => STRIPPED.to_owned(),
            _ => format!(
                "{library}, which it uses, has NVIDIA's CUDA runtime inside: use a build of that library that needs libcudart.so"
            ),
        });
    }
    (!folder.join(REPLACED_NOTE).exists()).then(|| UNSEEN.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_decides() {
        let folder = tempfile::tempdir().expect("a folder");
        let advice = || advice(folder.path()).unwrap_or_default();
        assert!(advice().contains("-cudart shared"));
        let note = |name, text| std::fs::write(folder.path().join(name), text).expect("written");
        note(REPLACED_NOTE, "");
        assert_eq!(advice(), "");
        note(STRIPPED_NOTE, "");
        assert!(advice().contains("keep its symbols"));
        note(STRIPPED_NOTE, "/lib/libcurand.so.10");
        let of_library = advice();
        assert!(of_library.starts_with("/lib/libcurand.so.10, ") && !of_library.contains("strip"));
    }
}
