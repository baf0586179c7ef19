//! Tests of the crates with unsafe code, built with a sanitizer of the stable compiler, or run by the interpreter Miri.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{self, cargo, watch};
use crate::tally::Tally;
use crate::workspace;

/// Tests of one crate: all of them, or those of its library.
struct Tests {
    package: &'static str,
    only_library: bool,
    /// Parts of names of tests that cannot run, each with the reason.
    left_out: &'static [(&'static str, &'static str)],
}

const fn all(package: &'static str) -> Tests {
    Tests {
        package,
        only_library: false,
        left_out: &[],
    }
}

const fn library(
    package: &'static str,
    left_out: &'static [(&'static str, &'static str)],
) -> Tests {
    Tests {
        package,
        only_library: true,
        left_out,
    }
}

/// Crates whose unsafe code their own tests reach in one process. What C programs load is not among them, such as the other tests
/// of the fabric: a plain program cannot load a library that needs the sanitizer.
const COMPILED: [Tests; 7] = [
    all("pagemill-linux"),
    all("pagemill-map"),
    all("pagemill-ptx"),
    library("pagemill-ptx-native", &[]),
    Tests {
        package: "pagemill-cudart",
        only_library: false,
        left_out: &[
            ("managed::views", SHADOW),
            ("managed_pages_close_when_they_leave", SHADOW),
            ("pages_that_only_a_kernel_touches", SHADOW),
            ("touches_are_for_the_runtime", SHADOW),
        ],
    },
    library("pagemill-fabric", &[]),
    all("pagemill-pager"),
];

/// Crates with threads of their own: handlers of faults, daemons, the ranks of a board.
const THREADED: [Tests; 4] = [
    Tests {
        package: "pagemill-pager",
        only_library: false,
        left_out: &[("of_its_cgroup_ends_well", SHADOW_IS_MEMORY)],
    },
    all("pagemill-zero"),
    all("pagemill-color"),
    library("pagemill-fabric", &[]),
];

const SHADOW: &str = "the sanitizer keeps its shadow where managed memory is";
const SHADOW_IS_MEMORY: &str = "the sanitizer's own memory is more than the limit of the test";
const NO_SYSTEM_CALL: &str = "Miri has no such system call";
const TOO_LONG: &str = "too many steps for an interpreter";

/// Miri has no machine code, no processes and few system calls: it gets what computes, and the memory that ranks share.
const INTERPRETED: [Tests; 4] = [
    library("pagemill-types", &[]),
    library("pagemill-map", &[]),
    library(
        "pagemill-fabric",
        &[
            ("bells", NO_SYSTEM_CALL),
            ("a_waiter_that_others_passed", NO_SYSTEM_CALL),
        ],
    ),
    library("pagemill-ptx", &[("random", TOO_LONG)]),
];

/// The only platform that is built for; naming it keeps the flags from build scripts and procedural macros.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Sanitizer {
    /// Accesses beyond a live allocation, and use after free.
    Address,
    /// Accesses of several threads without an order (installs a nightly compiler).
    Thread,
    /// What the language leaves undefined, by interpreting (installs a nightly compiler).
    Miri,
}

impl Sanitizer {
    fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Thread => "thread",
            Self::Miri => "miri",
        }
    }

    fn tests(self) -> &'static [Tests] {
        match self {
            Self::Address => &COMPILED,
            Self::Thread => &THREADED,
            Self::Miri => &INTERPRETED,
        }
    }

    /// `cargo test` as this sanitizer needs it.
    fn command(self) -> Command {
        match self {
            Self::Miri => {
                let mut command = nightly();
                command
                    .args(["miri", "test", "--no-fail-fast"])
                    // Clocks and files are there; addresses are handed to programs as numbers; boards are never given back.
                    .env(
                        "MIRIFLAGS",
                        "-Zmiri-disable-isolation -Zmiri-permissive-provenance -Zmiri-ignore-leaks",
                    )
                    .env("PROPTEST_CASES", "2");
                command
            }
            Self::Thread => {
                let mut command = nightly();
                command
                    // What the standard library orders is seen only if it is built with the sanitizer, too.
                    .args(["test", "--no-fail-fast", "-Zbuild-std"])
                    .args(["--target", PLATFORM])
                    // It sees what is mapped and unmapped by functions of the C library.
                    .env("RUSTFLAGS", "-Zsanitizer=thread --cfg=rustix_use_libc")
                    // A fault that its own thread answers is a signal at a known place; children of `fork` start threads.
                    .env(
                        "TSAN_OPTIONS",
                        "allocator_may_return_null=1:handle_segv=0:handle_sigbus=0:report_signal_unsafe=0:die_after_fork=0",
                    );
                command
            }
            Self::Address => {
                let mut command = cargo(&["test", "--no-fail-fast", "--target", PLATFORM]);
                command
                    .env("RUSTFLAGS", "-Zsanitizer=address")
                    // The sanitizer is part of the stable compiler; only its flag is not.
                    .env("RUSTC_BOOTSTRAP", "1")
                    // Tests ask for impossible sizes, leak what they lend for ever, and end by signals, on purpose.
                    .env(
                        "ASAN_OPTIONS",
                        "allocator_may_return_null=1:detect_leaks=0:handle_segv=0:handle_sigbus=0",
                    );
                command
            }
        }
    }

    fn target(self) -> PathBuf {
        workspace::root().join("target/sanitize").join(self.name())
    }
}

/// What the tests of a crate did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    tests: usize,
    findings: usize,
    left_out: usize,
}

/// Tests each crate whose name contains one of `names`; `keep` writes the counts to `validation/sanitize/counts.csv`.
pub fn run(sanitizer: Sanitizer, names: &[String], keep: bool) -> Result<Tally> {
    if sanitizer != Sanitizer::Address {
        provide_nightly()?;
    }
    let mut tally = Tally::default();
    for tests in sanitizer.tests() {
        let package = tests.package;
        if !names.is_empty() && !names.iter().any(|name| package.contains(name.as_str())) {
            continue;
        }
        let counts = test(sanitizer, tests, &mut tally)?;
        println!("{package} under {}: {counts:?}", sanitizer.name());
        if keep {
            let path = workspace::root().join("validation/sanitize/counts.csv");
            keep_counts(&path, sanitizer.name(), package, counts)?;
        }
    }
    Ok(tally)
}

/// Cargo of the nightly compiler.
fn nightly() -> Command {
    let mut command = Command::new("cargo");
    command
        .arg("+nightly")
        .current_dir(workspace::root())
        // Cargo's own variables would choose the stable compiler again.
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN");
    command
}

/// Installs the nightly compiler with the interpreter and the standard library's source, unless they are there.
fn provide_nightly() -> Result<()> {
    const PARTS: [&str; 2] = ["miri", "rust-src"];
    process::run(Command::new("rustup").args([
        "toolchain",
        "install",
        "nightly",
        "--profile",
        "minimal",
    ]))?;
    let mut add = Command::new("rustup");
    add.args(["component", "add", "--toolchain", "nightly"])
        .args(PARTS);
    process::run(&mut add).context(
        "a nightly compiler is needed: `rustup component add miri rust-src --toolchain nightly` says what is missing",
    )
}

fn test(sanitizer: Sanitizer, tests: &Tests, tally: &mut Tally) -> Result<Counts> {
    let (package, failures_before) = (tests.package, tally.failures());
    let mut command = sanitizer.command();
    command
        .args(["-p", package])
        .arg(if tests.only_library {
            "--lib"
        } else {
            "--tests"
        })
        .env("RUSTC_WRAPPER", "")
        .env("CARGO_TARGET_DIR", sanitizer.target());
    build(&command)?;
    command.arg("--");
    for (name, reason) in tests.left_out {
        command.args(["--skip", name]);
        tally.skip(
            &format!("{package} {name} under {}", sanitizer.name()),
            reason,
        );
    }
    let mut counted = Tally::default();
    let succeeded = watch(&mut command, |line| counted.see_test_line(line))?;
    let tests_run = counted.passes();
    tally.add(counted);
    if !succeeded && tally.failures() == failures_before {
        // The sanitizer ends a test program at the first defect: no test is named.
        tally.check(&format!("{package} under {}", sanitizer.name()), || {
            bail!("the sanitizer ended a test program of {package}; its report is above")
        });
    }
    Ok(Counts {
        tests: tests_run,
        findings: tally.failures() - failures_before,
        left_out: tests.left_out.len(),
    })
}

/// Builds what `tests` runs. Apart, since building may say nothing for longer than any test may.
fn build(tests: &Command) -> Result<()> {
    let mut build = Command::new(tests.get_program());
    build.args(tests.get_args()).arg("--no-run");
    if let Some(folder) = tests.get_current_dir() {
        build.current_dir(folder);
    }
    for (name, value) in tests.get_envs() {
        match value {
            Some(value) => build.env(name, value),
            None => build.env_remove(name),
        };
    }
    process::run(&mut build)
}

/// Puts a line in the place of the one of the same sanitizer and crate.
fn keep_counts(path: &Path, sanitizer: &str, package: &str, counts: Counts) -> Result<()> {
    const HEAD: &str = "sanitizer,crate,tests,findings,left_out";
    let before = fs::read_to_string(path).unwrap_or_default();
    let own = format!("{sanitizer},{package},");
    let mut lines: Vec<String> = before
        .lines()
        .skip(1)
        .filter(|line| !line.starts_with(&own))
        .map(str::to_owned)
        .collect();
    let Counts {
        tests,
        findings,
        left_out,
    } = counts;
    lines.push(format!("{own}{tests},{findings},{left_out}"));
    lines.sort();
    let mut text = format!("{HEAD}\n");
    for line in lines {
        writeln!(text, "{line}")?;
    }
    let folder = path.parent().context("a file in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_kept_once_for_each_sanitizer_and_crate() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/counts.csv");
        let counts = |tests| Counts {
            tests,
            findings: 0,
            left_out: 1,
        };
        keep_counts(&path, "thread", "pagemill-map", counts(3)).expect("kept");
        keep_counts(&path, "address", "pagemill-map", counts(4)).expect("kept");
        keep_counts(&path, "thread", "pagemill-map", counts(5)).expect("kept");
        let text = fs::read_to_string(&path).expect("there");
        assert_eq!(
            text,
            "sanitizer,crate,tests,findings,left_out\naddress,pagemill-map,4,0,1\nthread,pagemill-map,5,0,1\n"
        );
    }
}
