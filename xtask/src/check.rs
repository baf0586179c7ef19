//! Everything that can be said about the sources without running them.

use crate::process::{self, cargo};
use crate::tally::Tally;
use crate::{dependencies, imports, kernels, tidy};

/// Runs every check, also after one has failed.
pub fn run() -> Tally {
    let mut tally = Tally::default();
    tally.check("format", || {
        process::run(&mut cargo(&["fmt", "--all", "--", "--check"]))
    });
    tally.check("dependency directions", dependencies::check);
    tally.check("unused dependencies", dependencies::check_use);
    tally.check("circles of imports", imports::check);
    tally.check("house rules", tidy::check);
    tally.check("generated files", kernels::check_freshness);
    tally.check("lints", || {
        process::run(&mut cargo(&[
            "clippy",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]))
    });
    tally.check("documentation", || {
        let mut documentation = cargo(&["doc", "--quiet", "--workspace", "--no-deps"]);
        process::run(documentation.env("RUSTDOCFLAGS", "-D warnings"))
    });
    tally
}
