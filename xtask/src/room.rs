//! Room on the disk, before a run of an hour ends for want of it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{process, workspace};

/// What a run leaves in `target/` (11 GiB: `du` after one on a fresh clone, 2026-11-24), and what tests write meanwhile.
const NEEDED_GIB: u64 = 14;

/// Compares the room that is free, and what `target/` holds already, with what all tests need.
pub fn check() -> Result<()> {
    let target = workspace::root().join("target");
    std::fs::create_dir_all(&target)
        .with_context(|| format!("cannot make {}", target.display()))?;
    is_enough(free_kib(&target)? >> 20, held_kib(&target)? >> 20)
}

fn free_kib(folder: &Path) -> Result<u64> {
    let mut disk = Command::new("df");
    second_line(&process::output(
        disk.args(["-k", "--output=avail"]).arg(folder),
    )?)
}

fn held_kib(folder: &Path) -> Result<u64> {
    let mut held = Command::new("du");
    first_word(&process::output(held.arg("-sk").arg(folder))?)
}

fn is_enough(free_gib: u64, held_gib: u64) -> Result<()> {
    ensure!(
        free_gib + held_gib >= NEEDED_GIB,
        "target/ holds {held_gib} GiB, and {free_gib} GiB are free on its disk; all tests need {NEEDED_GIB} GiB together: \
         free {} GiB more",
        NEEDED_GIB - free_gib - held_gib
    );
    Ok(())
}

fn second_line(table: &str) -> Result<u64> {
    let line = table.lines().nth(1).context("`df` printed one line")?;
    first_word(line)
}

fn first_word(text: &str) -> Result<u64> {
    let word = text.split_whitespace().next().unwrap_or_default();
    word.parse()
        .with_context(|| format!("`{word}` is no number of KiB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_room_is_said_with_its_numbers() {
        is_enough(3, 11).expect("a full run was here before");
        is_enough(200, 0).expect("a large disk");
        let error = is_enough(12, 1).expect_err("too little").to_string();
        assert!(
            error.contains("holds 1 GiB, and 12 GiB are free"),
            "{error}"
        );
        assert!(error.contains("free 1 GiB more"), "{error}");
    }

    #[test]
    fn the_tools_are_read_as_they_print() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(free_kib(here).expect("df's table") > 0);
        assert!(held_kib(here).expect("du's line") > 0);
        assert_eq!(second_line("  Avail\n 512\n").expect("a number"), 512);
        assert!(second_line("Avail").is_err());
        assert!(first_word("much\ttarget").is_err());
    }
}
