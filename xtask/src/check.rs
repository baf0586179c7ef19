//! Everything that can be said about the sources without running them.

use std::path::Path;

use anyhow::{Result, bail};

use crate::process::{self, cargo, idle_cargo};
use crate::tally::Tally;
use crate::{dependencies, imports, kernels, safety, size, style, supply, tidy, workspace};

/// A check and its name.
pub type Check = (&'static str, fn() -> Result<()>);

/// All of them: last those that compile the workspace.
pub const CHECKS: [Check; 13] = [
    ("format", || format(workspace::root())),
    ("dependency directions", dependencies::check),
    ("unused dependencies", dependencies::check_use),
    ("crates of other projects", supply::check),
    ("circles of imports", imports::check),
    ("house rules", tidy::check),
    ("lines of each crate", size::check),
    ("reasons of unsafe code", safety::check),
    ("style of Python", style::check_python),
    ("style of C", style::check_c),
    ("generated files", kernels::check_freshness),
    ("lints", || lints(workspace::root())),
    ("documentation", || documentation(workspace::root())),
];

/// How many of [`CHECKS`] compile nothing.
pub const QUICK: usize = CHECKS.len() - 2;

/// Where the others build: what is tested meanwhile has the other folder.
const BUILT: [&str; 2] = ["--target-dir", "target/check"];

/// Runs `checks`, also after one has failed.
pub fn run(checks: &[Check]) -> Tally {
    let mut tally = Tally::default();
    for (name, check) in checks {
        tally.check(name, check);
    }
    if checks.len() >= QUICK {
        supply::advisories(&mut tally);
    }
    tally
}

/// The checks whose name contains one of `names`, all where there are none.
pub fn chosen(names: &[String]) -> Result<Vec<Check>> {
    let known = CHECKS.map(|(name, _)| name);
    let is_known = |own: &String| known.iter().any(|name| name.contains(own));
    if let Some(unknown) = names.iter().find(|own| !is_known(own)) {
        bail!(
            "no check has `{unknown}` in its name: there are {}",
            known.join(", ")
        );
    }
    let is_chosen = |name: &str| names.is_empty() || names.iter().any(|own| name.contains(own));
    let chosen = CHECKS.into_iter().filter(|(name, _)| is_chosen(name));
    Ok(chosen.collect())
}

fn format(folder: &Path) -> Result<()> {
    process::run(cargo(&["fmt", "--all", "--", "--check"]).current_dir(folder))
}

fn lints(folder: &Path) -> Result<()> {
    lints_of(folder, &["--workspace".to_owned()])
}

/// Lints what the options `packages` say.
pub fn lints_of(folder: &Path, packages: &[String]) -> Result<()> {
    let mut clippy = idle_cargo(&["clippy", "--quiet", "--all-targets"]);
    clippy
        .args(packages)
        .args(BUILT)
        .args(["--", "-D", "warnings"])
        .current_dir(folder);
    process::run(&mut clippy)
}

fn documentation(folder: &Path) -> Result<()> {
    let mut documentation = idle_cargo(&["doc", "--quiet", "--workspace", "--no-deps"]);
    documentation
        .args(BUILT)
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
    fn checks_are_chosen_by_their_names() {
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let chosen = chosen(&names)?;
            Ok::<_, anyhow::Error>(chosen.into_iter().map(|(name, _)| name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap().len(), CHECKS.len());
        assert_eq!(
            names(&["form", "circles"]).unwrap(),
            ["format", "circles of imports"]
        );
        assert!(
            names(&["circels"])
                .unwrap_err()
                .to_string()
                .contains("no check has `circels`")
        );
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
