//! Programs that carry NVIDIA's runtime within themselves, as nvcc links them by default.
//!
//! A library that is loaded before the program calls [`start`] before any of the program's own code runs. Where the
//! executable has its symbols, the entry of each of its runtime functions becomes a jump to the function of the same name
//! in the shim. Where it has none, a note is left, so that `pagemill cuda` can say what it met.

mod compiler;
mod device_files;
mod elf;
mod patch;

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::shim::{in_shim, open_shim};
use super::{call_stack, caught, complain};
use crate::api::{SHIMS, functions};
use elf::{Executable, Function};
use pagemill_wire::{ENVIRONMENT, REPLACED_NOTE, STRIPPED_NOTE};

/// Shims that plugins look for in a folder of their own first, where NVIDIA's are: a library that is loaded already is found
/// before any folder is.
const LOADED_FIRST: [&str; 2] = ["libcudart.so.13", "libcudnn.so.9"];

/// Runs before the program's own code; called by the library `libpagemill_start.so`.
#[unsafe(no_mangle)]
extern "C" fn pagemill_start() {
    let redirected = caught(|| {
        for shim in LOADED_FIRST {
            if open_shim(shim).is_none() {
                complain(
                    "start",
                    &format!("{shim} is not beside libpagemill_cudart.so"),
                );
            }
        }
        redirect();
        Ok(())
    });
    if redirected.is_err() {
        complain("start", "the program keeps its own CUDA runtime");
    }
}

fn redirect() {
    let Ok(executable) = Executable::open("/proc/self/exe".as_ref()) else {
        return;
    };
    let versions: BTreeMap<&str, Vec<&str>> =
        functions().fold(BTreeMap::new(), |mut all, function| {
            let known: &mut Vec<&str> = all.entry(function.name).or_default();
            known.extend(function.versions.split(','));
            all
        });
    let Ok(own) = executable.functions(|name| versions.contains_key(name)) else {
        return;
    };
    if own.is_empty() {
        if executable.has_section(".nv_fatbin") && !executable.needs_library("libcudart.so") {
            note(STRIPPED_NOTE, "");
        }
        return;
    }
    let version = version_of(&own, &versions);
    let shim = SHIMS.iter().find(|shim| shim.file_name.ends_with(version));
    let Some(handle) = shim.and_then(|shim| open_shim(shim.file_name)) else {
        complain(
            "start",
            "libcudart.so is not beside libpagemill_cudart.so, so the program keeps its own CUDA runtime",
        );
        return;
    };
    let jumps: Vec<patch::Jump> = own
        .iter()
        .filter_map(|function| {
            let target = in_shim(handle, &function.name)? as u64;
            Some(patch::Jump {
                at: function.address,
                room_bytes: function.bytes,
                target,
            })
        })
        .collect();
    match patch::apply(&jumps) {
        Ok(()) => note(REPLACED_NOTE, ""),
        Err(error) => complain(
            "start",
            &format!("the program's own CUDA runtime cannot be replaced: {error}"),
        ),
    }
}

/// The version whose functions these are: names that only one version has decide.
fn version_of(own: &[Function], versions: &BTreeMap<&str, Vec<&str>>) -> &'static str {
    let count = |version: &str| {
        own.iter()
            .filter(|function| {
                versions
                    .get(function.name.as_str())
                    .is_some_and(|known| *known == [version])
            })
            .count()
    };
    if count("12") > count("13") {
        "12"
    } else {
        "13"
    }
}

/// Leaves a note for `pagemill cuda`.
fn note(name: &str, text: &str) {
    if let Some(folder) = std::env::var_os(ENVIRONMENT) {
        // Without the note the message is less exact, nothing else.
        let _ = std::fs::write(PathBuf::from(folder).join(name), text);
    }
}

/// A runtime without symbols is at work: that of the file that called us.
pub(super) fn note_stripped() {
    let Some(library) = call_stack::library() else {
        complain(
            "cuGetExportTable",
            "the CUDA runtime that is linked into the program has no symbols, and asks the driver for what only NVIDIA's own \
             driver has. Build it with `nvcc -cudart shared` (pip's nvcc first needs `ln -s libcudart.so.13 libcudart.so` in its \
             `lib`, and `-L` of it), or keep its symbols (no `strip`, no `-Xlinker -s`), so that it can be replaced at start",
        );
        return note(STRIPPED_NOTE, "");
    };
    complain(
        "cuGetExportTable",
        &format!(
            "{library} has a CUDA runtime inside that cannot be replaced, and asks the driver for what only NVIDIA's own driver \
             has: what the program calls of this library fails. The program's own build is not the cause; use a build of the \
             library that needs libcudart.so, or do without it"
        ),
    );
    note(STRIPPED_NOTE, &library);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_version_decide() {
        let versions = BTreeMap::from([
            ("both", vec!["12", "13"]),
            ("old", vec!["12"]),
            ("new", vec!["13"]),
        ]);
        let of = |names: &[&str]| {
            let own: Vec<Function> = names
                .iter()
                .map(|name| Function {
                    name: (*name).to_owned(),
                    address: 0,
                    bytes: 16,
                })
                .collect();
            version_of(&own, &versions)
        };
        assert_eq!(of(&["both", "old"]), "12");
        assert_eq!(of(&["both", "new"]), "13");
        assert_eq!(of(&["both"]), "13");
    }
}
