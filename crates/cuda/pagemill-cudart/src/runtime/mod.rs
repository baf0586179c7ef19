//! What the CUDA runtime does, behind its C border and without a pointer.

mod arrays;
mod clusters;
mod conditionals;
mod copies;
mod deeds;
mod device;
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

use pagemill_sim::{Gpu, Report};
use pagemill_types::Picos;

use crate::error::{CudaError, Fault};
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
use device::Device;
use graph_memory::GraphMemory;
use graphs::Graphs;
use images::Modules;
use ipc::SharedWithOthers;
use kept::Kept;
use mipmaps::Mipmaps;
use planned::Planned;
use streams::Streams;
use virtual_memory::VirtualMemory;

/// One simulated GPU, and what a program does with it.
pub struct Runtime {
    /// The GPU, and the program's memory.
    pub device: Device,
    pub(crate) streams: Streams,
    deeds: Deeds,
    pub(crate) arrays: Arrays,
    pub(crate) mipmaps: Mipmaps,
    pub(crate) graphs: Graphs,
    pub(crate) graph_memory: GraphMemory,
    pub(crate) virtual_memory: VirtualMemory,
    pub(crate) shared: SharedWithOthers,
    /// Device code of the program.
    pub modules: Modules,
    /// The error that every call returns once a kernel has gone astray.
    pub(crate) lost: Option<CudaError>,
    failed: Vec<FailedLaunches>,
    kept: Kept,
    /// Hints that are given for the program, if there is a plan.
    planned: Option<Planned>,
}

impl Runtime {
    /// An idle GPU with nothing on it.
    ///
    /// # Errors
    /// If the machine cannot be built.
    pub fn new(setting: Setting) -> Result<Self, Fault> {
        let planned = setting.plan.clone().map(Planned::new);
        let device = Device::new(setting)?;
        let capability = device.compute_capability();
        Ok(Self {
            planned,
            device,
            streams: Streams::default(),
            deeds: Deeds::default(),
            arrays: Arrays::default(),
            mipmaps: Mipmaps::default(),
            graphs: Graphs::default(),
            graph_memory: GraphMemory::default(),
            virtual_memory: VirtualMemory::default(),
            shared: SharedWithOthers::default(),
            modules: Modules::new(capability),
            lost: None,
            failed: Vec::new(),
            kept: Kept::default(),
        })
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

    /// Waits for everything and returns its result.
    pub fn finish(mut self) -> Report {
        self.return_touched();
        self.device.gpu.finish(self.streams.end_of_all())
    }

    /// Does something on the GPU for `stream`: `work` gets the time at which it begins and returns when it is done, as this does.
    /// The host does not wait.
    fn enqueue(
        &mut self,
        stream: StreamId,
        work: impl FnOnce(&mut Gpu, Picos) -> Result<Picos, Fault>,
    ) -> Result<Picos, Fault> {
        let start = self.streams.start(stream)?.at;
        let done = work(&mut self.device.gpu, start)?;
        self.streams.end(stream, done)?;
        Ok(done)
    }
}
