//! What to do about a program that did not use the runtime, as far as its file shows.

use std::path::Path;

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

/// What a user should do so that `program`, which left no results, uses the runtime. `has_own_runtime` says that it was seen to
/// have one without symbols.
pub fn advice(program: &Path, has_own_runtime: bool) -> &'static str {
    if has_own_runtime {
        return STRIPPED;
    }
    match std::fs::read(program).map_or(Runtime::Unknown, |bytes| runtime_of(&bytes)) {
        Runtime::Shared => {
            "it is linked with a shared runtime, and made no call of it, or found another one: see which libcudart.so `ldd` shows, \
             and whether it has an RPATH of its own"
        }
        Runtime::Static => STRIPPED,
        Runtime::Unknown => {
            "name a program that uses CUDA; if this one has a CUDA runtime inside and no symbols, link it with \
             `nvcc -cudart shared`; a program that is linked with `-static` cannot be given another runtime"
        }
    }
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
        let own = std::env::current_exe().expect("a test has a file");
        assert!(advice(&own, true).contains("keep its symbols"));
        assert!(advice(Path::new("/nonexistent"), false).contains("-cudart shared"));
    }
}
