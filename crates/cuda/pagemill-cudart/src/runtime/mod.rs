//! What the CUDA runtime does, behind its C border and without a pointer.

mod arrays;
mod clusters;
mod conditionals;
mod copies;
mod deeds;
mod failures;
mod graph_memory;
mod graphs;
mod held;
mod images;
mod ipc;
mod kept;
mod launches;
mod memory;
mod mipmaps;
mod moments;
mod moved;
mod pages;
mod planned;
mod races;
mod streams;
#[cfg(test)]
mod tests;
mod views;
mod virtual_memory;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pagemill_pages::parts::link::Direction;
use pagemill_ptx::Defect;
use pagemill_sim::{Gpu, GpuMachine, ModuleId, Options, Report, TransferMode};
use pagemill_types::Picos;

use crate::error::{CudaError, Fault};
use crate::maps;
use crate::setting::Setting;
use pagemill_wire::FailedLaunches;

pub use arrays::{Array, Resource};
pub use copies::{Copy3d, Extent, Span};
pub use held::Turn;
pub use images::FunctionKey;
pub use ipc::IpcHandle;
pub use launches::{FunctionAttributes, Launch};
pub use memory::Side;
pub use moments::Moment;
pub use streams::StreamId;
pub use views::{MipReading, View};
pub use virtual_memory::GRANULE_BYTES;
pub use work::{Choice, Conditional, Graph, Step, Work, step_of};

use arrays::Arrays;
use deeds::Deeds;
use graph_memory::GraphMemory;
use graphs::Graphs;
use images::Images;
use ipc::SharedWithOthers;
use kept::Kept;
use memory::Block;
use mipmaps::Mipmaps;
use planned::Planned;
use streams::Streams;
use virtual_memory::VirtualMemory;

/// Allocations by their first address.
type Blocks = BTreeMap<u64, Block>;

/// One simulated GPU, and what a program has on it.
pub struct Runtime {
    setting: Setting,
    gpu: Gpu,
    pub(crate) streams: Streams,
    deeds: Deeds,
    blocks: Blocks,
    arrays: Arrays,
    mipmaps: Mipmaps,
    pub(crate) graphs: Graphs,
    graph_memory: GraphMemory,
    virtual_memory: VirtualMemory,
    shared: SharedWithOthers,
    images: Images,
    lost: Option<CudaError>,
    failed: Vec<FailedLaunches>,
    kept: Kept,
    /// Hints that are given for the program, if there is a plan.
    planned: Option<Planned>,
    /// Kernels that may have clusters of more than 8 blocks.
    large_clusters: BTreeSet<(ModuleId, Arc<str>)>,
    /// Most dynamic shared memory of kernels that have asked for their own limit, in bytes.
    dynamic_shared: BTreeMap<(ModuleId, Arc<str>), u32>,
}

/// The least that CUDA 13's compiler makes code for.
const CAPABILITY_MIN: u32 = 75;

fn reported_capability(machine: &GpuMachine) -> u32 {
    machine.sm.compute_capability.max(CAPABILITY_MIN)
}

impl Runtime {
    /// Compute capability times ten, as programs read it: that of the machine, but at least what today's compilers make
    /// code for.
    pub fn compute_capability(&self) -> u32 {
        reported_capability(&self.setting.machine)
    }

    /// An idle GPU with nothing on it.
    ///
    /// # Errors
    /// If the machine cannot be built.
    pub fn new(setting: Setting) -> Result<Self, Fault> {
        let options = Options {
            timing: !setting.functional,
            detail: setting.detail,
            timeline: setting.limits.timeline_events > 0,
            limits: setting.limits,
            workers: setting.threads,
        };
        let mut gpu = Gpu::new(&setting.machine, setting.mode.clone(), options)
            .map_err(|error| Fault::new(CudaError::INVALID_VALUE, error.to_string()))?;
        gpu.listen_to_moves();
        gpu.device_memory_mut().know_cpu_memory(maps::describe);
        if setting.check {
            gpu.check();
        }
        let capability = reported_capability(&setting.machine);
        Ok(Self {
            planned: setting.plan.clone().map(Planned::new),
            setting,
            gpu,
            streams: Streams::default(),
            deeds: Deeds::default(),
            blocks: Blocks::new(),
            arrays: Arrays::default(),
            mipmaps: Mipmaps::default(),
            graphs: Graphs::default(),
            graph_memory: GraphMemory::default(),
            virtual_memory: VirtualMemory::default(),
            shared: SharedWithOthers::default(),
            images: Images::new(capability),
            lost: None,
            failed: Vec::new(),
            kept: Kept::default(),
            large_clusters: BTreeSet::new(),
            dynamic_shared: BTreeMap::new(),
        })
    }

    /// What it is made of.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// The GPU's values.
    pub fn machine(&self) -> &GpuMachine {
        &self.setting.machine
    }

    /// Does `work`, unless the GPU is lost; pages that the CPU has touched since the last call come back first.
    ///
    /// # Errors
    /// Those of `work`. One that loses the GPU is also that of every later call.
    pub fn call<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if let Some(code) = self.lost {
            return Err(Fault::silent(code));
        }
        self.return_touched();
        let result = work(self);
        if let Err(fault) = &result
            && fault.sticky
        {
            self.lost = Some(fault.code);
        }
        result
    }

    /// The error that every call returns once a kernel has gone astray.
    pub fn lost(&self) -> Option<CudaError> {
        self.lost
    }

    /// What kernels printed since the last call.
    pub fn take_output(&mut self) -> String {
        self.gpu.take_output()
    }

    /// What users should know about kernels that ran on regardless, since the last call.
    pub fn take_notes(&mut self) -> Vec<String> {
        self.gpu.take_notes()
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

    /// Waits for everything and returns its result.
    pub fn finish(mut self) -> Report {
        self.return_touched();
        self.gpu.finish(self.streams.end_of_all())
    }

    /// Does something on the GPU for `stream`: `work` gets the time at which it begins and returns when it is done, as this does.
    /// The host does not wait.
    fn enqueue(
        &mut self,
        stream: StreamId,
        work: impl FnOnce(&mut Gpu, Picos) -> Result<Picos, Fault>,
    ) -> Result<Picos, Fault> {
        let start = self.streams.start(stream)?.at;
        let done = work(&mut self.gpu, start)?;
        self.streams.end(stream, done)?;
        Ok(done)
    }

    fn is_programmer_copy(&self) -> bool {
        self.setting.mode == TransferMode::ProgrammerCopy
    }

    /// How long the GPU's memory needs to read and write `bytes`.
    fn on_board_copy(&self, read_bytes: u64, written_bytes: u64) -> Picos {
        let bytes = read_bytes.saturating_add(written_bytes);
        self.setting.machine.memory.bandwidth().time_for(bytes)
    }
}

/// The direction of a copy between the CPU and memory that is always on the GPU.
fn link_direction(to_gpu: bool) -> Direction {
    if to_gpu {
        Direction::ToGpu
    } else {
        Direction::ToCpu
    }
}
