//! `pagemill cuda --check` between streams and the CPU, and of calls: each mistake is found, and the same without it is
//! silent.

use std::path::{Path, PathBuf};

use crate::common::{Finished, pagemill};
use crate::toolkit::Toolkit;

/// Names in the source, how the line about it begins, and what else it says.
const MISTAKES: [(&str, &str, &str); 24] = [
    (
        "two-streams",
        "stream-race at orders.cu:KERNEL, kernel",
        "after a write by kernel",
    ),
    (
        "halves",
        "stream-race at orders.cu:KERNEL, kernel",
        "after a write by kernel",
    ),
    (
        "write-after-read",
        "stream-race at orders.cu:KERNEL, kernel",
        "after a read by kernel",
    ),
    (
        "missing-event",
        "stream-race at orders.cu:KERNEL, kernel",
        "after a write by a copy",
    ),
    (
        "early-copy",
        "stream-race at orders.cu:KERNEL, kernel",
        "before a read by a copy",
    ),
    (
        "two-fills",
        "stream-race at a fill in stream",
        "after a write by a fill",
    ),
    (
        "default-stream",
        "stream-race at orders.cu:KERNEL, kernel",
        "the default stream",
    ),
    (
        "copy-beside",
        "stream-race at orders.cu:KERNEL, kernel",
        "before a read by a copy",
    ),
    (
        "graph",
        "stream-race at orders.cu:KERNEL, kernel",
        "in a graph",
    ),
    (
        "beside-graph",
        "stream-race at orders.cu:READER, kernel",
        "in a graph",
    ),
    (
        "free-beside",
        "stream-race at orders.cu:KERNEL, kernel",
        "by cudaFreeAsync",
    ),
    (
        "host-managed",
        "host-race at orders.cu:KERNEL, kernel",
        "the CPU used that page",
    ),
    (
        "host-writes",
        "host-race at orders.cu:KERNEL, kernel",
        "the CPU used that page",
    ),
    (
        "host-pinned",
        "host-race at a copy in stream",
        "the CPU used that page",
    ),
    (
        "host-told",
        "host-race at orders.cu:KERNEL, kernel",
        "the CPU used that page",
    ),
    (
        "function-tells",
        "stream-race at orders.cu:READER, kernel",
        "after a write by kernel",
    ),
    (
        "double-free",
        "freed-memory at cudaFree in ",
        "no allocation of the GPU starts at",
    ),
    (
        "foreign-free",
        "bad-free at cudaFree in ",
        "no allocation of the GPU starts at",
    ),
    (
        "inner-free",
        "bad-free at cudaFree in ",
        "it is 32 bytes into an allocation",
    ),
    (
        "host-double-free",
        "freed-memory at cudaFreeHost in ",
        "no allocation of cudaMallocHost",
    ),
    (
        "long-copy",
        "out-of-bounds at cudaMemcpy in ",
        "16388 bytes at",
    ),
    (
        "long-fill",
        "out-of-bounds at cudaMemset in ",
        "16385 bytes at",
    ),
    (
        "copy-of-freed",
        "freed-memory at cudaMemcpy in ",
        "is no memory of the GPU",
    ),
    (
        "copied-uninitialized",
        "uninitialized at orders.cu:KERNEL, kernel",
        "which nothing has written",
    ),
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda/orders.cu")
}

/// The line of the source with the comment `HERE name`.
fn line_of(name: &str) -> usize {
    let text = std::fs::read_to_string(source()).expect("the source");
    let mark = format!("// HERE {name}");
    let at = text.lines().position(|line| line.ends_with(&mark));
    at.unwrap_or_else(|| panic!("no line of {name}")) + 1
}

fn run(program: &Path, arguments: &[&str]) -> Finished {
    let mut command = pagemill(&std::env::temp_dir());
    command.args(["cuda", "--check", "--"]).arg(program);
    command.args(arguments);
    Finished::from(command.output().expect("the command starts"))
}

#[test]
fn what_nothing_orders_is_found_and_its_twin_is_silent() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let program = toolkit.compile(&source(), "orders", &["-lineinfo", "-std=c++17"]);
    for (name, place, says) in MISTAKES {
        let place = place
            .replace("KERNEL", &line_of("kernel").to_string())
            .replace("READER", &line_of("reader").to_string());
        let finished = run(&program, &[name]);
        let is_it = |line: &&str| {
            line.starts_with(&format!("pagemill: check: {place}")) && line.contains(says)
        };
        let found = finished.stderr.lines().find(is_it);
        assert!(found.is_some(), "{name}: {}", finished.stderr);
        assert_eq!(finished.code, Some(1), "{name}: {}", finished.stderr);
        let twin = run(&program, &[name, "mended"]);
        assert!(!twin.stderr.contains("check:"), "{name}: {}", twin.stderr);
        assert!(twin.stdout.contains("no error"), "{name}: {}", twin.stdout);
        assert_eq!(twin.code, Some(0), "{name}: {}", twin.stderr);
    }
}
