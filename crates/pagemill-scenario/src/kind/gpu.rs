//! `kind = "gpu"`: a GPU program on a simulated GPU whose pages move.

use crate::document::{Reader, Section};
use crate::machine::Machine;
use crate::scenario::MachineFile;
use crate::transfer::Transfer;
use crate::workload::WorkloadSpec;

/// One run of one program on one machine.
#[derive(Debug)]
pub struct GpuPoint {
    /// The GPU and its link.
    pub machine: Machine,
    /// How data gets to the GPU.
    pub transfer: Transfer,
    /// What runs.
    pub workload: WorkloadSpec,
}

impl GpuPoint {
    pub(crate) fn read(
        root: &mut Section<'_>,
        machine: Option<&MachineFile>,
        reader: &Reader,
        seed: u64,
    ) -> Option<Self> {
        let workload = root
            .section("workload")
            .and_then(|section| WorkloadSpec::read(section, seed));
        let transfer = root.section("transfer").and_then(Transfer::read);
        let machine = machine.and_then(|file| {
            // The TLBs see the page of the transfer; where that is wrong, the machine is still checked.
            let page = transfer
                .as_ref()
                .map_or(pagemill_types::PageSize::MIB_2, |transfer| transfer.page);
            Machine::read(file, page, reader)
        });
        Some(Self {
            machine: machine?,
            transfer: transfer?,
            workload: workload?,
        })
    }
}
