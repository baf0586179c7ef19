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
mod fit;
mod goal;
mod gpu;
mod help;
mod list;
mod mpi;
mod mrc;
mod output;
mod pager;
mod preload;
mod rank;
mod report;
mod run;
mod shell;
mod sweep;
mod values;
mod view;
mod zero;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};
use gpu::GpuCommand;
use output::TextFormat;

fn main() -> ExitCode {
    match Arguments::try_parse() {
        Ok(arguments) => execute(arguments.command),
        // Help that cannot be written is no success.
        Err(asked) if !asked.use_stderr() => end(output::print_help(&asked)),
        Err(error) => error.exit(),
    }
}

fn execute(command: Command) -> ExitCode {
    let result = match command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Sweep(arguments) => sweep::sweep(&arguments),
        Command::View(arguments) => view::view(&arguments),
        Command::Advise(arguments) => advise::advise(&arguments),
        Command::Fit(arguments) => fit::fit(&arguments),
        Command::Rank(arguments) => rank::rank(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Goal(arguments) => goal::goal(&arguments),
        Command::Gpu(GpuCommand::Bench(arguments)) => gpu::bench(&arguments),
        Command::Mrc(arguments) => mrc::mrc(&arguments),
        Command::Zero(arguments) => zero::zero(&arguments),
        Command::Color(arguments) => color::color(&arguments),
        Command::Cuda(arguments) => cuda::cuda(&arguments),
        Command::Pager(arguments) => match pager::pager(&arguments) {
            Ok(code) => return code,
            Err(failure) => Err(failure),
        },
        Command::Completions { shell } => help::completions(shell),
        Command::Manual => help::manual(),
        Command::List(arguments) => list::list(&arguments),
        Command::Mpi(arguments) => match mpi::run(&arguments) {
            Ok(code) => return code,
            Err(failure) => Err(failure),
        },
        Command::Doctor(arguments) => match arguments.format {
            TextFormat::Table => output::print_text(&doctor::table()),
            TextFormat::Json => output::print_json(&doctor::json()),
        },
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
