//! `kind = "mpi"`: an unmodified MPI program whose ranks each have a simulated network interface.

use pagemill_nic::NicMachine;

use super::cuda::command;
use super::input::PointInput;
use crate::document::Section;
use crate::machine::{self, Machine};

/// Keys that every row holds under a shorter name.
pub(crate) const SHORT_NAMES: &[(&str, &str)] = &[("program.command", "program")];

/// One run of one program on one kind of node.
#[derive(Debug)]
pub struct MpiPoint {
    /// The node and its interface.
    pub machine: Machine<NicMachine>,
    /// The launcher, the program and its arguments; at least one word.
    pub command: Vec<String>,
}

impl MpiPoint {
    pub(crate) fn read(root: &mut Section<'_>, input: &PointInput<'_>) -> Option<Self> {
        let command = root
            .section("program")
            .and_then(|mut section| section.required("command", command));
        let machine = input
            .machine
            .and_then(|file| machine::nic::read(file, input.reader));
        Some(Self {
            machine: machine?,
            command: command?,
        })
    }
}
