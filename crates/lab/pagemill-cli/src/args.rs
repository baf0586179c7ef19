//! The commands, and how `--help` shows them.

use std::fmt::Write;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, Subcommand};
use pagemill_scenario::nearest;

/// Simulates page-level memory management: which pages move, when, and at what cost.
#[derive(Parser, Debug)]
#[command(
    name = "pagemill",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(
    after_help = "Exit codes: 0 done, 1 the run failed, 2 bad usage or input, 3 the GPU, kernel module or emulator that was asked for is not there, 130 ended by Ctrl-C."
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

/// The commands of `--help`, by what they are for.
const GROUPS: &[(&str, &[&str])] = &[
    ("Simulate", &["run", "list", "report"]),
    (
        "Run your programs",
        &["cuda", "gpu", "mpi", "pager", "zero", "color", "mrc"],
    ),
    ("Decide", &["advise", "rank"]),
    ("Help", &["doctor", "help"]),
];

/// The command line, with its commands in groups.
pub fn command() -> clap::Command {
    let mut command = Arguments::command();
    command.build();
    let mut list = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(list, "{group}:");
        for name in *names {
            let found = command.find_subcommand(name);
            let about = found.and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(list, "  {name:8} {about}");
        }
        list.push('\n');
    }
    Arguments::command().help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}{{after-help}}"
    ))
}

/// The error with the command that was most likely meant: letters that changed places count as one mistake, so that `rnu` is `run`.
pub fn suggesting(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) {
        let command = Arguments::command();
        let names = command.get_subcommands().map(clap::Command::get_name);
        if let Some(name) = nearest(word, names) {
            let name = ContextValue::Strings(vec![name.to_owned()]);
            error.insert(ContextKind::SuggestedSubcommand, name);
        }
    }
    at_least_one(error)
}

/// The error of a count of 0 in words.
fn at_least_one(error: clap::Error) -> clap::Error {
    let is_zero = std::error::Error::source(&error)
        .is_some_and(|source| source.to_string().contains("zero for non-zero"));
    let (true, Some(argument)) = (is_zero, error.get(ContextKind::InvalidArg)) else {
        return error;
    };
    let text = format!("{argument} is 0: use a number of at least 1\n");
    clap::Error::raw(error.kind(), text)
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run a scenario and show its results
    Run(crate::run::RunArguments),
    /// Advise on memory hints, places for data, settings of the pager and kinds of pages
    Advise(Box<crate::advise::AdviseArguments>),
    /// Rank policies by their time over several programs, with confidence
    Rank(crate::rank::RankArguments),
    /// Make a site of several runs, compare two, or show where the pages of one were
    Report(crate::report::ReportArguments),
    /// List machines, workloads, policies and scenarios
    List(crate::list::ListArguments),
    /// Show what this machine has and how to enable the rest; measure it
    Doctor(crate::doctor::DoctorArguments),
    /// Run an unmodified CUDA program on a simulated GPU
    Cuda(crate::cuda::CudaArguments),
    /// Run a CUDA program on a real GPU with memory hints, unmodified
    Gpu(crate::gpu::GpuArguments),
    /// Run an MPI program over the simulated network interface
    Mpi(crate::mpi::MpiArguments),
    /// Compute the miss curve of a trace or a program
    Mrc(crate::mrc::MrcArguments),
    /// Use or serve huge pages that are cleared in advance
    Zero(crate::zero::ZeroArguments),
    /// Run programs with less memory than they use
    Pager(crate::pager::PagerArguments),
    /// Give programs their own part of a shared cache
    Color(crate::color::ColorArguments),
    /// Write the completions of a shell, such as bash
    #[command(hide = true)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual page, for man -l -
    #[command(hide = true)]
    Manual {
        /// Write a page for each command there instead
        #[arg(long, value_name = "DIR")]
        out: Option<std::path::PathBuf>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_is_shown_is_in_one_group() {
        let grouped: Vec<&str> = (GROUPS.iter())
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let mut command = Arguments::command();
        command.build();
        for shown in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let times = grouped.iter().filter(|name| **name == shown.get_name());
            assert_eq!(times.count(), 1, "{}", shown.get_name());
        }
    }
}
