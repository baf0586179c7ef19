//! `pagemill gpu`: programs on this machine's GPU, as they are; and `pagemill doctor gpu`, its benchmark.

mod arguments;
mod bench;
mod front;
mod hinted;
mod record;
mod results;

pub use arguments::{GpuArguments, GpuBenchArguments};
pub use bench::bench;
pub use front::{Watched, run_in_front};

use arguments::GpuCommand;

use crate::failure::Failure;

/// Runs the user's program behind what stands in front of the driver.
pub fn gpu(arguments: &GpuArguments) -> Result<(), Failure> {
    match &arguments.command {
        GpuCommand::Run(arguments) => hinted::run(arguments),
        GpuCommand::Record(arguments) => record::record(&arguments.shown),
    }
}
