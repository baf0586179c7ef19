//! What to do about a program that did not use the runtime, as far as its file shows.

use std::path::Path;

use pagemill_cudart::{REPLACED_NOTE, STRIPPED_NOTE};

/// How a program has its CUDA runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runtime {
    /// As a library of its own.
    Shared,
    /// As a part of the executable.
    Static,
    /// It is no executable, or has none.
    Unknown,
}

const STRIPPED: &str = "it has NVIDIA's CUDA runtime inside and no symbols by which it could be replaced: link it with \
     `nvcc -cudart shared`, or keep its symbols (no `strip`, no `-Xlinker -s`)";

/// Why `program`, which left no results, may not have found the runtime, and what a user should do about that; `folder` is what
/// it had beside it. `None` where it had the runtime.
pub fn advice(program: &Path, folder: &Path) -> Option<String> {
    if let Ok(library) = std::fs::read_to_string(folder.join(STRIPPED_NOTE)) {
        return Some(match library.as_str() {
            "" => STRIPPED.to_owned(),
            _ => format!(
                "{library}, which it uses, has NVIDIA's CUDA runtime inside: use a build of that library that needs libcudart.so"
            ),
        });
    }
    if folder.join(REPLACED_NOTE).exists() {
        return None;
    }
    let kind = std::fs::read(program).map_or(Runtime::Unknown, |bytes| runtime_of(&bytes));
    let advice = match kind {
        Runtime::Shared => {
            "it is linked with a shared runtime, and made no call of it, or found another one: see which libcudart.so `ldd` shows, \
             and whether it has an RPATH of its own"
        }
        Runtime::Static => {
            "it has NVIDIA's CUDA runtime inside, which was not replaced: link it with `nvcc -cudart shared`, without `-static`, \
             and leave LD_PRELOAD as it is"
        }
        Runtime::Unknown => {
            "name a program that uses CUDA; if this one has a CUDA runtime inside and no symbols, link it with \
             `nvcc -cudart shared`; a program that is linked with `-static` cannot be given another runtime"
        }
    };
    Some(advice.to_owned())
}

fn runtime_of(bytes: &[u8]) -> Runtime {
    let holds = |text: &str| {
        let mut windows = bytes.windows(text.len());
        windows.any(|window| window == text.as_bytes())
    };
    if !bytes.starts_with(b"\x7fELF") {
        Runtime::Unknown
    } else if holds("\0libcudart.so.") {
        Runtime::Shared
    } else if holds("\0.nv_fatbin\0") || holds("__cudaRegisterFatBinary") {
        Runtime::Static
    } else {
        Runtime::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_tells_how_it_is_linked() {
        let of = |text: &str| runtime_of(text.as_bytes());
        assert_eq!(of("#!/bin/sh\nlibcudart.so.13"), Runtime::Unknown);
        assert_eq!(
            of("\x7fELF..\0.nv_fatbin\0..\0libcudart.so.13\0"),
            Runtime::Shared
        );
        assert_eq!(of("\x7fELF..\0.text\0.nv_fatbin\0"), Runtime::Static);
        assert_eq!(of("\x7fELF..\0.text\0"), Runtime::Unknown);
    }

    #[test]
    fn what_was_seen_decides() {
        let folder = tempfile::tempdir().expect("a folder");
        let own = std::env::current_exe().expect("a test has a file");
        let advice_for = |program: &Path| advice(program, folder.path());
        let unknown = advice_for(Path::new("/nonexistent"));
        assert!(unknown.is_some_and(|text| text.contains("-cudart shared")));
        let note = |name, text| std::fs::write(folder.path().join(name), text).expect("written");
        note(REPLACED_NOTE, "");
        assert_eq!(advice_for(&own), None);
        note(STRIPPED_NOTE, "");
        assert!(advice_for(&own).is_some_and(|text| text.contains("keep its symbols")));
        note(STRIPPED_NOTE, "/lib/libcurand.so.10");
        let of_library = advice_for(&own).unwrap_or_default();
        assert!(of_library.starts_with("/lib/libcurand.so.10, ") && !of_library.contains("strip"));
    }
}
