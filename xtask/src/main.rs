//! `cargo xtask`: the project's own build, test and set-up commands.
#![forbid(unsafe_code)]

mod bench;
mod built;
mod check;
mod cuda;
mod dependencies;
mod frameworks;
mod fuzz;
mod gallery;
mod imports;
mod kernels;
mod mpi4py;
mod package;
mod process;
mod python;
mod room;
mod safety;
mod sanitize;
mod since;
mod site;
mod size;
mod style;
mod supply;
mod system;
mod tally;
mod test;
mod tidy;
mod venv;
mod vm;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use pagemill_vm::{ARCHITECTURES, Architecture};

/// Checks, tests and builds pagemill.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Format, lints, documentation, dependency directions, house rules: no test is run.
    Check {
        /// Only checks whose name contains one of these.
        names: Vec<String>,
    },
    /// Sets up what the tests need, then runs the checks and every test.
    Test {
        /// Also what takes long: fuzzing for minutes, kills by the hundred.
        #[arg(long)]
        full: bool,
        /// Only what can differ from this revision by what has changed since, for between commits: says what it leaves out.
        #[arg(long, conflicts_with = "full")]
        since: Option<String>,
    },
    /// Fuzzes every parser and decoder with libFuzzer; what fails is kept in target/fuzz/artifacts/.
    Fuzz {
        #[command(flatten)]
        plan: fuzz::Plan,
        /// Only targets whose name contains one of these.
        names: Vec<String>,
    },
    /// Runs the tests of the crates with unsafe code under a sanitizer.
    Sanitize {
        /// What is looked for.
        #[arg(value_enum, default_value = "address")]
        sanitizer: sanitize::Sanitizer,
        /// Write the counts to validation/sanitize/counts.csv.
        #[arg(long)]
        keep: bool,
        /// Only crates whose name contains one of these.
        names: Vec<String>,
    },
    /// Builds the Python package and runs its tests: a part of `test`.
    Python,
    /// Rebuilds the committed PTX from its CUDA sources.
    Workloads {
        /// Compare with the committed files and change nothing.
        #[arg(long)]
        check: bool,
        /// Only sources whose path contains this.
        filter: Option<String>,
    },
    /// Runs the benchmarks and keeps their figures in validation/bench/.
    Bench {
        /// Only benchmarks whose name contains this.
        filter: Option<String>,
        /// Only those of this package.
        #[arg(long)]
        package: Option<String>,
    },
    /// Makes the gallery: published figures beside ours, of the rows kept in validation/.
    Gallery {
        /// The folder, which is emptied first; target/gallery where none is named.
        folder: Option<std::path::PathBuf>,
    },
    /// Makes the site: guides, gallery and playground as one folder for a file server.
    Site {
        /// The folder, which is emptied first; target/website where none is named.
        folder: Option<std::path::PathBuf>,
    },
    /// Builds all files of a release, and tries them: wheel, Debian packages, archive, container file, parts and checksums.
    #[command(alias = "package")]
    Release {
        /// Without optimization and from a tree with changes, to see that it works.
        #[arg(long)]
        dev: bool,
        /// Also install them on a bare Debian 12, in a folder: fetches about 300 MB the first time, and needs root.
        #[arg(long)]
        verify: bool,
    },
    /// Tests the kernel modules in a virtual machine that runs Debian's kernel.
    Vm {
        /// Keep the measured values in validation/.
        #[arg(long)]
        keep: bool,
        /// Boot the kernel of this release of Debian, such as bookworm-backports, instead of this machine's; kasan: this Debian's
        /// with KASAN and lockdep, built from source.
        #[arg(long, conflicts_with = "keep")]
        kernel: Option<String>,
        /// Boot this Debian's kernel for another processor: amd64 or arm64.
        #[arg(long, value_parser = architecture, conflicts_with_all = ["keep", "kernel"])]
        arch: Option<&'static Architecture>,
        /// Only suites (kmod/suites/) whose name contains one of these.
        names: Vec<String>,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn architecture(name: &str) -> Result<&'static Architecture, String> {
    let names = ARCHITECTURES.iter().map(|one| one.name);
    Architecture::find(name)
        .ok_or_else(|| format!("known are {}", names.collect::<Vec<_>>().join(", ")))
}

/// Whether all went well.
fn run(command: Command) -> Result<bool> {
    match command {
        Command::Check { names } => Ok(passed(&check::run(&check::chosen(&names)?))),
        Command::Test {
            since: Some(revision),
            ..
        } => test::run_since(&revision),
        Command::Test { full, since: None } => test::run(full),
        Command::Fuzz { plan, names } => Ok(passed(&fuzz::run(plan, &names)?)),
        Command::Sanitize {
            sanitizer,
            keep,
            names,
        } => Ok(passed(&sanitize::run(sanitizer, &names, keep)?)),
        Command::Python => {
            let mut tally = tally::Tally::default();
            let environment = python::provide()?;
            python::test(&environment, Some(&site::make(None)?), false, &mut tally)?;
            Ok(passed(&tally))
        }
        Command::Workloads {
            check: true,
            filter,
        } => Ok(passed(&kernels::compare(filter.as_deref())?)),
        Command::Workloads {
            check: false,
            filter,
        } => kernels::rebuild(filter.as_deref()).map(|()| true),
        Command::Vm {
            keep,
            kernel: None,
            arch: None,
            names,
        } => Ok(passed(&vm::run(&names, keep)?)),
        Command::Vm {
            kernel,
            arch,
            names,
            ..
        } => {
            let guest = vm::Guest {
                release: kernel.as_deref(),
                architecture: arch.unwrap_or(Architecture::own()),
            };
            Ok(passed(&vm::run_on_guest(&guest, &names)?))
        }
        Command::Release { dev, verify } => {
            let profile = if dev {
                package::Profile::Dev
            } else {
                package::Profile::Release
            };
            Ok(passed(&package::run(profile, verify)?))
        }
        Command::Site { folder } => site::run(folder.as_deref()).map(|()| true),
        Command::Gallery { folder } => gallery::run(folder.as_deref()).map(|()| true),
        Command::Bench { filter, package } => {
            bench::run(filter.as_deref(), package.as_deref()).map(|()| true)
        }
    }
}

/// Prints `tally`; whether nothing in it failed.
fn passed(tally: &tally::Tally) -> bool {
    tally.print();
    tally.all_passed()
}
