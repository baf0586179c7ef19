//! What the guest finds when it boots.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use crate::build::Built;
use crate::bundle::Files;
use crate::cpio::Archive;
use crate::kernel::Kernel;
use crate::suite::Suite;

/// The first program: mounts, sets up, runs the tests, reports, powers off.
const INIT: &str = include_str!("init.sh");

const FOLDERS: [&str; 8] = [
    "bin", "dev", "modules", "proc", "sys", "tmp", "suite", "mnt",
];

/// Packs busybox, modules, programs and the list of tests.
pub fn archive(suite: &Suite, kernel: &Kernel, built: &Built, mut files: Files) -> Result<Vec<u8>> {
    let mut archive = Archive::new();
    for folder in FOLDERS {
        archive.folder(folder);
    }
    archive.device("dev/console", 5, 1);
    archive.file("bin/busybox", &read(&kernel.busybox)?);
    archive.file("init", INIT.as_bytes());
    archive.file("suite/setup", setup(suite).as_bytes());
    archive.file("suite/tests", tests(suite).as_bytes());
    for (name, path) in &built.modules {
        archive.file(&format!("modules/{name}.ko"), &read(path)?);
    }
    for (name, path) in &built.programs {
        archive.file(&format!("bin/{name}"), &read(path)?);
    }
    for (_, path) in &built.programs {
        files.add_libraries(path)?;
    }
    files.pack(&mut archive, &FOLDERS)?;
    Ok(archive.finish())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn setup(suite: &Suite) -> String {
    let mut script = "set -e\n".to_owned();
    for command in &suite.setup {
        script.push_str(command);
        script.push('\n');
    }
    script
}

/// A line for each test: its name, a space, its command.
fn tests(suite: &Suite) -> String {
    let mut lines = String::new();
    for test in &suite.test {
        writeln!(lines, "{} {}", test.name, test.run).expect("writing to a string");
    }
    lines
}
