//! The command `pagemill`.
#![forbid(unsafe_code)]

mod advise;
mod args;
mod color;
mod compare;
mod cuda;
mod daemon;
mod doctor;
mod failure;
mod gpu;
mod help;
mod list;
#[cfg(feature = "net")]
mod mpi;
#[cfg(not(feature = "net"))]
#[path = "mpi_absent.rs"]
mod mpi;
mod mrc;
mod output;
mod pager;
mod preload;
mod progress;
mod rank;
mod report;
mod run;
mod shell;
mod sweep;
mod values;
mod view;
mod zero;

use std::process::ExitCode;

use clap::FromArgMatches;

use args::{Arguments, Command};

fn main() -> ExitCode {
    help::complete();
    let matches = args::command().try_get_matches();
    match matches.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => execute(arguments.command),
        // Help that cannot be written is no success.
        Err(asked) if !asked.use_stderr() => end(output::print_help(&asked)),
        Err(error) => args::suggesting(error).exit(),
    }
}

fn execute(command: Command) -> ExitCode {
    let result = match command {
        Command::Run(arguments) => match &arguments.keep {
            Some(folder) => sweep::sweep(&arguments, folder),
            None => run::run(&arguments),
        },
        Command::Report(arguments) => report::report(&arguments),
        Command::Advise(arguments) => advise::advise(&arguments),
        Command::Rank(arguments) => rank::rank(&arguments),
        Command::Mrc(arguments) => mrc::mrc(&arguments),
        Command::Zero(arguments) => zero::zero(&arguments),
        Command::Color(arguments) => color::color(&arguments),
        Command::Cuda(arguments) => cuda::cuda(&arguments),
        Command::Gpu(arguments) => gpu::gpu(&arguments),
        Command::Pager(arguments) => match pager::pager(&arguments) {
            Ok(code) => return code,
            Err(failure) => Err(failure),
        },
        Command::Completions { shell } => help::completions(shell),
        Command::Manual { out: None } => help::manual(),
        Command::Manual { out: Some(folder) } => help::manuals(&folder),
        Command::List(arguments) => list::list(&arguments),
        Command::Mpi(arguments) => match mpi::run(&arguments) {
            Ok(code) => return code,
            Err(failure) => Err(failure),
        },
        Command::Doctor(arguments) => doctor::doctor(&arguments),
    };
    end(result)
}

fn end(result: Result<(), failure::Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report();
            failure.exit_code()
        }
    }
}
