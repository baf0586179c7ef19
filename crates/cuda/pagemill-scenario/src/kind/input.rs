//! What every kind reads a point from.

use crate::document::Reader;
use crate::machine_files::MachineFile;

/// What a kind reads a point from, beside the sections of the scenario.
pub(crate) struct PointInput<'a> {
    /// The machine, where it can be read.
    pub machine: Option<&'a MachineFile>,
    /// Takes note of what is wrong.
    pub reader: &'a Reader,
    /// Seed of all randomness.
    pub seed: u64,
}
