//! C programs that tests of preload libraries run with a library and without: `crates/pagemill-mapping/tests/programs`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What `private_memory.c` checks, each by its argument.
pub const CHECKS: [&str; 25] = [
    "dontneed",
    "dontneed_part",
    "dontneed_small",
    "dontneed_by_syscall",
    "process_advice",
    "free_advice",
    "protect_part",
    "unmap_part",
    "map_over_part",
    "remap",
    "lock_and_sync",
    "fork_by_libc",
    "fork_bare",
    "fork_by_syscall",
    "clone_by_syscall",
    "clone3_by_syscall",
    "clone_by_libc",
    "parent_writes",
    "fork_by_instruction",
    "shares_by_vfork",
    "many_generations",
    "protect_beside_writers",
    "unmap_beside_writers",
    "fork_beside_writers",
    "heap",
];

/// Of these, those that concern mappings of huge pages, too.
pub const HUGE_CHECKS: [&str; 16] = [
    "dontneed",
    "dontneed_part",
    "dontneed_small",
    "dontneed_by_syscall",
    "free_advice",
    "lock_and_sync",
    "fork_by_libc",
    "fork_bare",
    "fork_by_syscall",
    "clone_by_syscall",
    "clone3_by_syscall",
    "clone_by_libc",
    "parent_writes",
    "fork_by_instruction",
    "shares_by_vfork",
    "fork_beside_writers",
];

/// Builds `source`, one of these programs or a path of another, into `folder`; `options` are the compiler's.
///
/// # Panics
/// It does not compile.
pub fn build(folder: &Path, source: impl AsRef<Path>, options: &[&str]) -> PathBuf {
    let source = source.as_ref();
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pagemill-mapping/tests/programs");
    let program = folder.join(source.file_stem().expect("a name"));
    let is_cpp = source
        .extension()
        .is_some_and(|extension| extension == "cpp");
    let built = Command::new(if is_cpp { "g++" } else { "cc" })
        .args(["-Wall", "-O1", "-fno-builtin", "-pthread", "-o"])
        .arg(&program)
        .arg(programs.join(source))
        .args(options)
        .status();
    assert!(built.expect("a C compiler").success());
    program
}

/// Compares what `random_calls.c` says of its memory, eight bytes after each step.
///
/// # Panics
/// Memory differs after some step.
pub fn assert_same_memory(expected: &[u8], found: &[u8], what: &str) {
    let mut pairs = expected.chunks(8).zip(found.chunks(8));
    let differs = pairs.position(|(one, other)| one != other);
    assert_eq!(differs, None, "{what}: memory differs after this step");
    assert_eq!(found.len(), expected.len(), "{what}");
}
