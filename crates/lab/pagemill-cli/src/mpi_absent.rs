//! `pagemill mpi` of a command without the feature `net`: refused.

use std::process::ExitCode;

use crate::failure::Failure;

/// Words after `mpi`, of which none is read.
#[derive(clap::Args, Debug)]
pub struct MpiArguments {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _all: Vec<std::ffi::OsString>,
}

pub fn run(_: &MpiArguments) -> Result<ExitCode, Failure> {
    let message = "`pagemill mpi` is not in this command, which is built without the feature `net`: install the package \
                   pagemill, or build it with `cargo build -p pagemill-cli`";
    Err(Failure::NoDevice(message.to_owned()))
}
