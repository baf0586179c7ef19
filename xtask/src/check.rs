//! Everything that can be said about the sources without running them.

use std::path::Path;

use anyhow::Result;

use crate::process::{self, cargo};
use crate::tally::Tally;
use crate::{dependencies, imports, kernels, safety, style, supply, tidy, workspace};

/// Runs every check, also after one has failed.
pub fn run() -> Tally {
    let mut tally = Tally::default();
    tally.check("format", || format(workspace::root()));
    tally.check("dependency directions", dependencies::check);
    tally.check("unused dependencies", dependencies::check_use);
    tally.check("crates of other projects", supply::check);
    tally.check("circles of imports", imports::check);
    tally.check("house rules", tidy::check);
    tally.check("reasons of unsafe code", safety::check);
    tally.check("style of Python", style::check_python);
    tally.check("style of C", style::check_c);
    tally.check("generated files", kernels::check_freshness);
    tally.check("lints", || lints(workspace::root()));
    tally.check("documentation", || documentation(workspace::root()));
    tally
}

fn format(folder: &Path) -> Result<()> {
    process::run(cargo(&["fmt", "--all", "--", "--check"]).current_dir(folder))
}

fn lints(folder: &Path) -> Result<()> {
    let arguments = ["clippy", "--quiet", "--workspace", "--all-targets"];
    let mut clippy = cargo(&arguments);
    clippy.args(["--", "-D", "warnings"]).current_dir(folder);
    process::run(&mut clippy)
}

fn documentation(folder: &Path) -> Result<()> {
    let mut documentation = cargo(&["doc", "--quiet", "--workspace", "--no-deps"]);
    documentation
        .env("RUSTDOCFLAGS", "-D warnings")
        .current_dir(folder);
    process::run(&mut documentation)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package of its own with this library, under the workspace's lints.
    fn planted(library: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let manifest = std::fs::read_to_string(workspace::root().join("Cargo.toml")).unwrap();
        let lints = manifest
            .split("\n\n")
            .filter(|part| part.starts_with("[workspace.lints."));
        let lints: Vec<&str> = lints.collect();
        assert_eq!(lints.len(), 2, "the lints of Rust and of clippy");
        let manifest = format!(
            "[package]\nname = \"planted\"\nedition = \"2024\"\n[lints]\nworkspace = true\n[workspace]\n{}\n",
            lints.join("\n")
        );
        std::fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        std::fs::write(folder.path().join("src/lib.rs"), library).unwrap();
        folder
    }

    #[test]
    fn breaches_of_format_and_documentation_are_found() {
        let right = planted("//! Doc.\n");
        format(right.path()).unwrap();
        documentation(right.path()).unwrap();
        format(planted("//! Doc.\nfn  f( ){}\n").path()).unwrap_err();
        documentation(planted("//! See [`Nothing`].\n").path()).unwrap_err();
    }

    #[test]
    fn breaches_of_lints_are_found() {
        let check = |item: &str| lints(planted(&format!("//! Doc.\n{item}\n")).path());
        check("/// Doc.\npub fn f() {}").unwrap();
        check("#[allow(dead_code, reason = \"planted\")]\nfn f() {}").unwrap();
        for (breach, lint) in [
            ("#[allow(dead_code)]\nfn f() {}", "without_reason"),
            ("pub fn f() {}", "missing-docs"),
            ("/// Doc.\npub fn f() {\n    todo!()\n}", "todo"),
            (
                concat!(
                    "/// Doc.\npub fn f() -> u8 {\n    un",
                    "safe { *std::ptr::dangling() }\n}"
                ),
                "undocumented",
            ),
        ] {
            check(breach).expect_err(lint);
        }
    }
}
