//! The parts of the modules that need no kernel, tested in user space under sanitizers.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::tally::Tally;
use crate::{process, workspace};

/// Compiles each `kmod/MODULE/usertest/*.c` with the module's `core.c`, and runs it.
pub fn run(tally: &mut Tally) -> Result<()> {
    for module in workspace::entries(&workspace::root().join("kmod"))? {
        for test in workspace::entries(&module.join("usertest"))? {
            let name = workspace::relative(&test).display().to_string();
            if !name.ends_with(".c") {
                continue;
            }
            if process::succeeds("gcc", &["--version"]) {
                tally.check(&name, || run_one(&module, &test));
            } else {
                tally.skip(&name, "there is no gcc");
            }
        }
    }
    Ok(())
}

fn run_one(module: &Path, test: &Path) -> Result<()> {
    let folder = super::folder().join("usertest");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let program = folder.join(test.file_stem().context("a test has a name")?);
    let mut compile = Command::new("gcc");
    compile
        .args(["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror"])
        .args([
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
            "-I",
        ])
        .arg(module)
        .arg("-I")
        .arg(workspace::root().join("kmod/uapi"))
        .arg("-o")
        .arg(&program)
        .arg(test)
        .arg(module.join("core.c"));
    process::output(&mut compile)?;
    let output = Command::new(&program)
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
