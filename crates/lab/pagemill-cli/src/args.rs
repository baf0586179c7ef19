//! The commands.

use clap::{Parser, Subcommand};

/// Simulates page-level memory management: which pages move, when, and at what cost.
#[derive(Parser, Debug)]
#[command(
    name = "pagemill",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(
    after_help = "Exit codes: 0 done, 1 the run failed, 2 bad usage or input, 3 the GPU, kernel module or virtual machine that was asked for is not there."
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run a scenario and show its results
    Run(crate::run::RunArguments),
    /// Run a scenario point by point into a folder; a killed run resumes where it stopped
    Sweep(crate::sweep::SweepArguments),
    /// Advise on memory hints, places for data, settings of the pager and kinds of pages
    Advise(Box<crate::advise::AdviseArguments>),
    /// Search for the settings that come nearest to published values
    Fit(crate::fit::FitArguments),
    /// Rank policies by their time over several programs, with confidence
    Rank(crate::rank::RankArguments),
    /// Compare two results, with the error of each point
    Compare(crate::compare::CompareArguments),
    /// Show where the pages of a run were, when and why: one HTML page that needs no network
    View(crate::view::ViewArguments),
    /// Make a static site of several runs, which filters and compares them in the browser
    Report(crate::report::ReportArguments),
    /// List machines, workloads, policies and scenarios
    List(crate::list::ListArguments),
    /// Show which real backends this machine has, and how to enable the others
    Doctor(crate::doctor::DoctorArguments),
    /// Run an unmodified CUDA program on a simulated GPU
    Cuda(crate::cuda::CudaArguments),
    /// Run an MPI program over the simulated network interface
    Mpi(crate::mpi::MpiArguments),
    /// Write the messages of a scenario in the GOAL format of other network simulators
    Goal(crate::goal::GoalArguments),
    /// Run benchmarks on the real GPU of this machine
    #[command(subcommand)]
    Gpu(crate::gpu::GpuCommand),
    /// Compute the miss curve of a trace or a program
    Mrc(crate::mrc::MrcArguments),
    /// Use or serve huge pages that are cleared in advance
    Zero(crate::zero::ZeroArguments),
    /// Run programs with less memory than they use
    Pager(crate::pager::PagerArguments),
    /// Give programs their own part of a shared cache
    Color(crate::color::ColorArguments),
    /// Write the completions of a shell, such as bash
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual page, for man -l -
    Manual,
}
