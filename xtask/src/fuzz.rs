//! libFuzzer on every target of `fuzz/`, from a corpus made of the tree's own files.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process::{self, cargo};
use crate::tally::Tally;
use crate::workspace;

/// A target: its name, and which files of the tree are its first inputs, as folder and ending.
struct Target {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// Longest input.
    bytes_max: usize,
}

const TARGETS: [Target; 12] = [
    target(
        "ptx",
        &[
            ("workloads", "ptx"),
            ("crates/cuda/pagemill-ptx/tests", "ptx"),
        ],
        8192,
    ),
    target("execute", &[], 4096),
    target("scenario", &[("scenarios", "toml")], 8192),
    target("machine", &[("machines", "toml")], 16384),
    target("trace", &[], 4096),
    target("fatbin", &[], 4096),
    target("results", &[], 16384),
    target("map", &[], 4096),
    target("messages", &[], 2048),
    target("coordinator", &[], 4096),
    target("pager", &[], 256),
    target("board", &[], 4096),
];

const fn target(
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    bytes_max: usize,
) -> Target {
    Target {
        name,
        files,
        bytes_max,
    }
}

/// An input that takes longer is a defect.
const TIMEOUT_S: u32 = 20;
const MEMORY_MIB: u32 = 2048;
/// Freed memory that a fuzzer's process keeps.
const KEPT_BYTES: &str = "1073741824";

/// Cargo's profile and the folder of what it builds. A long run pays for a longer build.
const SHORT: (&str, &str) = ("dev", "debug");
const LONG: (&str, &str) = ("fuzz", "fuzz");

/// What a run of a target did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    executions: u64,
    /// Edges of the program that some input takes.
    edges: u64,
    /// Edges and comparisons, by how often.
    features: u64,
    /// Inputs that are kept because each takes something no other does.
    inputs: u64,
}

/// How long, and what for.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Plan {
    /// Seconds for each target, in each turn.
    #[arg(long, default_value_t = 30)]
    pub seconds: u32,
    /// Add the counts to validation/fuzz/counts.csv, and keep the smallest inputs that reach as much in fuzz/corpora.
    #[arg(long)]
    pub keep: bool,
    /// Take turn after turn, and keep the counts, until they are this many executions of all targets together.
    #[arg(long, value_name = "EXECUTIONS")]
    pub until: Option<u64>,
    /// Try inputs in the order of this number, instead of another order each time.
    #[arg(long)]
    pub seed: Option<u32>,
}

/// Fuzzes each target whose name contains one of `names`: once, or until there are enough executions or one fails.
pub fn run(plan: Plan, names: &[String]) -> Result<Tally> {
    let mut tally = Tally::default();
    let counts = workspace::root().join("validation/fuzz/counts.csv");
    let programs = build(if plan.until.is_some() { LONG } else { SHORT })?;
    loop {
        turn(plan, names, &programs, &counts, &mut tally)?;
        let is_enough = plan.until.is_none_or(|most| executions(&counts) >= most);
        if is_enough || tally.failures() > 0 {
            return Ok(tally);
        }
    }
}

/// Fuzzes each target once, as many at a time as there are cores. What they did is kept before the next begin: who stops a long
/// run loses those of the moment.
fn turn(
    plan: Plan,
    names: &[String],
    programs: &Path,
    kept: &Path,
    tally: &mut Tally,
) -> Result<()> {
    let folder = workspace::root().join("target/fuzz");
    let is_meant = |target: &&Target| {
        names.is_empty() || names.iter().any(|name| target.name.contains(name.as_str()))
    };
    let meant: Vec<&Target> = TARGETS.iter().filter(is_meant).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for targets in meant.chunks(cores) {
        for (target, fuzzed) in targets
            .iter()
            .zip(fuzz_all(targets, programs, &folder, plan))
        {
            let counts = *fuzzed.as_ref().unwrap_or(&Counts::default());
            tally.check(
                &format!("fuzz {} for {} s", target.name, plan.seconds),
                || fuzzed.map(drop),
            );
            eprintln!(
                "fuzz {}: {} executions, {} edges, {} features",
                target.name, counts.executions, counts.edges, counts.features
            );
            if plan.keep || plan.until.is_some() {
                keep_counts(kept, target.name, counts)?;
            }
            if plan.keep {
                keep_corpus(target, programs, &folder)?;
            }
        }
    }
    Ok(())
}

/// What each of `targets` did, all at the same time.
fn fuzz_all(
    targets: &[&Target],
    programs: &Path,
    folder: &Path,
    plan: Plan,
) -> Vec<Result<Counts>> {
    std::thread::scope(|scope| {
        let start = |target| scope.spawn(move || fuzz(target, programs, folder, plan));
        let running: Vec<_> = targets.iter().copied().map(start).collect();
        let ended = running.into_iter().map(|fuzzer| fuzzer.join());
        ended
            .map(|counts| counts.expect("starting a fuzzer does not panic"))
            .collect()
    })
}

/// Of all targets together, as kept.
fn executions(kept: &Path) -> u64 {
    let text = fs::read_to_string(kept).unwrap_or_default();
    let second = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').nth(1));
    second.filter_map(|number| number.parse::<u64>().ok()).sum()
}

/// Builds the programs with coverage counters in our own crates; returns their folder.
fn build((profile, built): (&str, &str)) -> Result<PathBuf> {
    let wrapper = workspace::root().join("xtask/coverage-rustc.sh");
    // A folder of their own: libraries that C programs load have no hash in their names, so those with counters would take the
    // place of the plain ones.
    let target = workspace::root().join("target/fuzz/build");
    let mut build = cargo(&[
        "build",
        "-p",
        "pagemill-fuzz",
        "--features",
        "libfuzzer",
        "--bins",
        "--profile",
        profile,
    ]);
    build
        .env("RUSTC_WORKSPACE_WRAPPER", wrapper)
        .env("CARGO_TARGET_DIR", &target)
        // A compiler cache does not know the wrapper.
        .env("RUSTC_WRAPPER", "");
    process::run(&mut build)?;
    Ok(target.join(built))
}

fn fuzz(target: &Target, programs: &Path, folder: &Path, plan: Plan) -> Result<Counts> {
    let corpus = folder.join("corpus").join(target.name);
    let artifacts = folder.join("artifacts");
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    plant(target, &corpus)?;
    let log = folder.join(format!("{}.log", target.name));
    let stderr = fs::File::create(&log)?;
    let status = Command::new(programs.join(format!("fuzz-{}", target.name)))
        .arg(format!("-max_total_time={}", plan.seconds))
        .args(plan.seed.map(|seed| format!("-seed={seed}")))
        .arg(format!("-max_len={}", target.bytes_max))
        .arg(format!("-timeout={TIMEOUT_S}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB}"))
        .arg(format!(
            "-artifact_prefix={}/{}-",
            artifacts.display(),
            target.name
        ))
        .args(["-print_final_stats=1", "-use_value_profile=0"])
        .arg(&corpus)
        // Memory of one input serves the next: giving it back to the kernel costs half of a small input's time.
        .env("MALLOC_MMAP_THRESHOLD_", KEPT_BYTES)
        .env("MALLOC_TRIM_THRESHOLD_", KEPT_BYTES)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(stderr)
        .status()
        .with_context(|| format!("cannot start the fuzzer of {}", target.name))?;
    let said = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    if !status.success() {
        bail!("an input fails; {} says:\n{}", log.display(), cause(&said));
    }
    counts_of(&said).with_context(|| format!("no counts in {}", log.display()))
}

/// Of what a fuzzer said that failed: the panic, and the end, which has the input.
fn cause(said: &str) -> String {
    const PANIC_LINES: usize = 4;
    const LAST_LINES: usize = 8;
    let lines: Vec<&str> = said.lines().collect();
    let panic = lines.iter().position(|line| line.contains(" panicked at "));
    let panic = panic.map_or(&[][..], |at| &lines[at..lines.len().min(at + PANIC_LINES)]);
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    [panic, &["[..]"], last].concat().join("\n")
}

/// The inputs of a target that the tree keeps.
fn kept_corpus(target: &Target) -> PathBuf {
    workspace::root().join(format!("fuzz/corpora/{}.tar.gz", target.name))
}

/// Puts the inputs of the corpus that reach all that it reaches, the smallest for each edge, into the tree.
fn keep_corpus(target: &Target, programs: &Path, folder: &Path) -> Result<()> {
    let smallest = folder.join("smallest").join(target.name);
    if smallest.exists() {
        fs::remove_dir_all(&smallest)?;
    }
    fs::create_dir_all(&smallest)?;
    let merged = Command::new(programs.join(format!("fuzz-{}", target.name)))
        .args(["-merge=1".into(), format!("-max_len={}", target.bytes_max)])
        .args([&smallest, &folder.join("corpus").join(target.name)])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if !merged.success() {
        bail!("the corpus of {} cannot be merged: {merged}", target.name);
    }
    let kept = kept_corpus(target);
    fs::create_dir_all(kept.parent().context("a file in a folder")?)?;
    // The same inputs give the same bytes.
    let mut pack = Command::new("tar");
    pack.args([
        "--sort=name",
        "--mtime=@0",
        "--owner=0",
        "--group=0",
        "--mode=644",
    ])
    .args(["--numeric-owner", "--use-compress-program=gzip -9n", "-cf"])
    .arg(&kept)
    .arg("-C")
    .arg(&smallest)
    .arg(".");
    process::run(&mut pack)
}

/// Puts the seeds and the kept inputs into the corpus, beside what former runs found.
fn plant(target: &Target, corpus: &Path) -> Result<()> {
    let kept = kept_corpus(target);
    if kept.exists() {
        let mut unpack = Command::new("tar");
        process::run(unpack.arg("-xzf").arg(&kept).arg("-C").arg(corpus))?;
    }
    let mut seeds = files(&workspace::root().join("fuzz/seeds").join(target.name), "");
    for (folder, ending) in target.files {
        seeds.extend(files(&workspace::root().join(folder), ending));
    }
    for (number, seed) in seeds.iter().enumerate() {
        let small = fs::metadata(seed)?.len() <= target.bytes_max as u64;
        if small {
            fs::copy(seed, corpus.join(format!("seed-{number}")))?;
        }
    }
    Ok(())
}

/// Files of a folder and of those in it, whose names end with `.ending`; all for an empty one.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if ending.is_empty() || path.extension().is_some_and(|own| own == ending) {
            found.push(path);
        }
    }
    found
}

/// Reads libFuzzer's last line of progress and its final statistics.
fn counts_of(said: &str) -> Option<Counts> {
    let executions = said
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))?;
    let progress = said.lines().rev().find(|line| line.contains(" cov: "))?;
    let number = |name: &str| {
        let mut words = progress.split_whitespace();
        words.find(|word| *word == name)?;
        // `corp: 7/8b` is a count and a size.
        words.next()?.split('/').next()?.parse().ok()
    };
    Some(Counts {
        executions: executions.trim().parse().ok()?,
        edges: number("cov:")?,
        features: number("ft:")?,
        inputs: number("corp:")?,
    })
}

/// Adds to the target's executions; coverage and inputs are those of the last run.
fn keep_counts(path: &Path, name: &str, counts: Counts) -> Result<()> {
    let before = fs::read_to_string(path).unwrap_or_default();
    let mut text = String::from("target,executions,edges,features,inputs\n");
    for target in &TARGETS {
        let line = before
            .lines()
            .find_map(|line| line.strip_prefix(target.name)?.strip_prefix(','));
        if target.name == name {
            let former = line.and_then(|line| line.split(',').next()?.parse().ok());
            let executions = former.unwrap_or(0) + counts.executions;
            let Counts {
                edges,
                features,
                inputs,
                ..
            } = counts;
            writeln!(text, "{name},{executions},{edges},{features},{inputs}")?;
        } else if let Some(line) = line {
            writeln!(text, "{},{line}", target.name)?;
        }
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "INFO: seed corpus: files: 5\n#5\tINITED cov: 12 ft: 13 corp: 3/9b exec/s: 0\n\
        #900\tDONE   cov: 34 ft: 56 corp: 7/8b lim: 4096 exec/s: 450 rss: 60Mb\n\
        stat::number_of_executed_units: 900\nstat::average_exec_per_sec:     450\n";

    #[test]
    fn a_failure_shows_its_panic_and_its_input() {
        let frames = "   1: a frame\n".repeat(100);
        let said = format!(
            "#1\nthread 'main' (7) panicked at board.rs:1:2:\nit broke\n{frames}artifact_prefix='/a/'; Test unit written to /a/crash-1\nBase64: AAA=\n"
        );
        let cause = cause(&said);
        for part in ["panicked at board.rs", "it broke", "crash-1", "Base64"] {
            assert!(cause.contains(part), "{cause}");
        }
        assert!(cause.lines().count() < 15, "{cause}");
    }

    #[test]
    fn counts_are_read_and_added_up() {
        let counts = counts_of(SAID).expect("counts");
        assert_eq!(
            (
                counts.executions,
                counts.edges,
                counts.features,
                counts.inputs
            ),
            (900, 34, 56, 7)
        );
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("counts.csv");
        keep_counts(&path, "ptx", counts).expect("kept");
        keep_counts(&path, "board", counts).expect("kept");
        keep_counts(&path, "ptx", counts).expect("kept");
        let text = fs::read_to_string(&path).expect("there");
        assert_eq!(
            text,
            "target,executions,edges,features,inputs\nptx,1800,34,56,7\nboard,900,34,56,7\n"
        );
        assert_eq!(executions(&path), 2700);
        assert_eq!(executions(Path::new("not there")), 0);
        assert_eq!(counts_of("nothing"), None);
    }
}
