//! Tests of the crates with unsafe code, built with a sanitizer of the stable compiler.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::process::{cargo, watch};
use crate::tally::Tally;
use crate::workspace;

/// Crates whose unsafe code their own tests reach in one process. What C programs load is not among them: a plain program
/// cannot load a library that needs the sanitizer.
const CRATES: [&str; 7] = [
    "pagemill-linux",
    "pagemill-map",
    "pagemill-ptx",
    "pagemill-cudart",
    "pagemill-fabric",
    "pagemill-pager",
    "pagemill-zero-client",
];

/// The only platform that is built for; naming it keeps the flags from build scripts and procedural macros.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Sanitizer {
    /// Accesses beyond a live allocation, and use after free.
    Address,
    /// Accesses of several threads without an order.
    Thread,
}

impl Sanitizer {
    fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Thread => "thread",
        }
    }
}

/// Tests each crate whose name contains one of `names`.
pub fn run(sanitizer: Sanitizer, names: &[String]) -> Result<Tally> {
    let mut tally = Tally::default();
    for package in CRATES {
        if names.is_empty() || names.iter().any(|name| package.contains(name.as_str())) {
            test(sanitizer, package, &mut tally)?;
        }
    }
    Ok(tally)
}

fn test(sanitizer: Sanitizer, package: &str, tally: &mut Tally) -> Result<()> {
    let failures_before = tally.failures();
    let mut tests = cargo(&["test", "--no-fail-fast", "--target", PLATFORM, "--tests"]);
    tests
        .args(["-p", package])
        .env("RUSTFLAGS", format!("-Zsanitizer={}", sanitizer.name()))
        // The sanitizers are part of the stable compiler; only their flag is not.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTC_WRAPPER", "")
        // Tests ask for impossible sizes, and leak what they lend for ever, on purpose.
        .env("ASAN_OPTIONS", "allocator_may_return_null=1:detect_leaks=0")
        .env("TSAN_OPTIONS", "allocator_may_return_null=1")
        .env("CARGO_TARGET_DIR", target(sanitizer));
    let succeeded = watch(&mut tests, |line| tally.see_test_line(line))?;
    if !succeeded && tally.failures() == failures_before {
        // The sanitizer ends a test program at the first defect: no test is named.
        tally.check(&format!("{package} under {}", sanitizer.name()), || {
            bail!("the sanitizer ended a test program of {package}; its report is above")
        });
    }
    Ok(())
}

fn target(sanitizer: Sanitizer) -> PathBuf {
    workspace::root()
        .join("target/sanitize")
        .join(sanitizer.name())
}
