//! `pagemill mrc -- PROGRAM` from end to end, with a program whose curve is known.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use pagemill_vm::Workshop;
use serde_json::Value;

use crate::built;
use crate::process;
use crate::tally::Tally;
use crate::workspace;

pub const NAME: &str = "mrc";
const TITLE: &str = "vm mrc: a program's curve is the one that is known";

/// What `stream.c` does.
const LINES: u64 = (2 << 20) / 64;
const PASSES: u64 = 8;
/// Lines of a page for each of 24 ways: pages that a color holds.
const PAGES: u64 = 512;
const PAGES_OF_A_COLOR: u64 = 24;
/// What the C library and the allocator refer to.
const OTHER_MISSES_MAX: u64 = 3000;

pub fn run(workshop: &Workshop, tally: &mut Tally) {
    tally.check(TITLE, || check(workshop));
}

pub fn skip(reason: &str, tally: &mut Tally) {
    tally.skip(TITLE, reason);
}

fn check(workshop: &Workshop) -> Result<()> {
    let program = compile(workshop)?;
    built::provide()?;
    let mut mrc = built::program("pagemill");
    mrc.args(["mrc", "--format", "json", "--"])
        .arg(program)
        .env("PAGEMILL_VM", &workshop.folder);
    let curve: Value = serde_json::from_str(&process::output(&mut mrc)?)
        .context("`pagemill mrc` wrote no JSON")?;
    let rows = curve["rows"].as_array().context("there are no rows")?;
    if rows.len() != 64 {
        bail!("there are {} rows, not 64", rows.len());
    }
    rows.iter().try_for_each(check_row)
}

/// All of it stays, or nothing does: who comes around last finds what was used least recently gone.
fn check_row(row: &Value) -> Result<()> {
    let number = |name: &str| row[name].as_u64().with_context(|| format!("no {name}"));
    let (colors, misses) = (number("colors")?, number("misses")?);
    // Some colors hold one page more than others, and the allocator has pages of its own.
    let expected = if PAGES.div_ceil(colors) + 2 <= PAGES_OF_A_COLOR {
        LINES
    } else if PAGES / colors > PAGES_OF_A_COLOR {
        LINES * PASSES
    } else {
        return Ok(());
    };
    if !(expected..=expected + OTHER_MISSES_MAX).contains(&misses) {
        bail!("{misses} misses on {colors} colors, and {expected} are known");
    }
    Ok(())
}

fn compile(workshop: &Workshop) -> Result<PathBuf> {
    let folder = workshop.folder.join("programs");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let program = folder.join("stream");
    let source = Path::new("kmod/plugin_cache/guest/stream.c");
    let mut compile = Command::new("gcc");
    compile
        .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(workspace::root().join(source));
    process::output(&mut compile)?;
    Ok(program)
}
