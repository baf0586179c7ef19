//! Everything that can be said about the sources without running them.

use crate::process::{self, cargo};
use crate::tally::Tally;
use crate::{dependencies, kernels, tidy};

/// Runs every check, also after one has failed.
pub fn run() -> Tally {
    let mut tally = Tally::default();
    let mut format = cargo(&["fmt", "--all", "--", "--check"]);
    tally.check("format", process::run(&mut format));
    tally.check("dependency directions", dependencies::check());
    tally.check("house rules", tidy::check());
    tally.check("generated files", kernels::check_freshness());
    let mut clippy = cargo(&[
        "clippy",
        "--quiet",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]);
    tally.check("lints", process::run(&mut clippy));
    let mut documentation = cargo(&["doc", "--quiet", "--workspace", "--no-deps"]);
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    tally.check("documentation", process::run(&mut documentation));
    tally
}
