//! The simulated GPU as the program sees it: what it is, what it says, and the memory that the program has.

use std::collections::BTreeMap;

use pagemill_ptx::Defect;
use pagemill_sim::{Gpu, Options, TransferMode};
use pagemill_types::Picos;

use super::memory::{Block, Kind};
use crate::error::Fault;
use crate::maps;
use crate::setting::Setting;

/// The least that CUDA 13's compiler makes code for.
const CAPABILITY_MIN: u32 = 75;

/// The first compute capability with clusters, times ten.
const CLUSTER_CAPABILITY_MIN: u32 = 90;

/// One simulated GPU, and the program's memory.
pub struct Device {
    pub(crate) setting: Setting,
    pub(crate) gpu: Gpu,
    /// Allocations by their first address.
    pub(super) blocks: BTreeMap<u64, Block>,
}

impl Device {
    pub(super) fn new(setting: Setting) -> Result<Self, Fault> {
        let options = Options {
            timing: !setting.functional,
            detail: setting.detail,
            timeline: setting.limits.timeline_events > 0,
            limits: setting.limits,
            workers: setting.threads,
        };
        let mut gpu = Gpu::new(&setting.machine, setting.mode.clone(), options)
            .map_err(|error| Fault::invalid(error.to_string()))?;
        gpu.listen_to_moves();
        gpu.device_memory_mut().know_cpu_memory(maps::describe);
        if setting.check {
            gpu.check();
        }
        Ok(Self {
            setting,
            gpu,
            blocks: BTreeMap::new(),
        })
    }

    /// Compute capability times ten, as programs read it: that of the machine, but at least what today's compilers make
    /// code for.
    pub fn compute_capability(&self) -> u32 {
        let own = self.setting.machine.sm.compute_capability;
        own.max(CAPABILITY_MIN)
    }

    /// Mistakes of kernels that were found since the last call and had not been found before, a line each.
    pub fn take_new_findings(&mut self) -> Vec<String> {
        let found = self.gpu.take_new_findings();
        found.iter().map(ToString::to_string).collect()
    }

    /// Notes a call that was a mistake; whether it was the first such one at its place. Nothing where mistakes are not
    /// looked for.
    pub fn note_call(&mut self, defect: Defect, place: &str, message: &str) -> bool {
        let known = self.gpu.findings().len();
        let memory = self.gpu.device_memory_mut();
        memory.note_call(defect, place, message.to_owned());
        self.gpu.findings().len() > known
    }

    /// What mistake it is to use memory at `address`, where no allocation is.
    pub(super) fn defect_at(&self, address: u64, otherwise: Defect) -> Defect {
        let near = self.gpu.device_memory().nearest(address).allocation;
        match near.is_some_and(|near| near.freed && near.distance.is_none()) {
            true => Defect::FreedMemory,
            false => otherwise,
        }
    }

    pub(super) fn is_programmer_copy(&self) -> bool {
        self.setting.mode == TransferMode::ProgrammerCopy
    }

    /// How long the GPU's memory needs to read and write `bytes`.
    pub(super) fn on_board_copy(&self, read_bytes: u64, written_bytes: u64) -> Picos {
        let bytes = read_bytes.saturating_add(written_bytes);
        self.setting.machine.memory.bandwidth().time_for(bytes)
    }

    /// Whether kernels may have clusters.
    pub fn has_clusters(&self) -> bool {
        self.compute_capability() >= CLUSTER_CAPABILITY_MIN
    }

    pub(super) fn add_block(&mut self, address: u64, bytes: u64, kind: Kind) {
        self.blocks.insert(address, Block { bytes, kind });
    }
}
