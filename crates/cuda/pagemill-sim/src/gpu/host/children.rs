//! What kernels ask for: grids, copies and fills that run when the grid that asked for them has ended.

use crate::gpu::error::GpuError;
use crate::gpu::host::device::Gpu;
use crate::gpu::host::program::{LaunchShape, Launched, ModuleId};
use crate::gpu::host::report::LaunchReport;
use pagemill_ptx::{DeviceFacts, DeviceLaunch, DeviceWork, QueuedWork};
use pagemill_types::Picos;

impl Gpu {
    /// What kernels learn about the device when they ask.
    pub fn device_facts_mut(&mut self) -> &mut DeviceFacts {
        self.memory.device_facts_mut()
    }

    /// The value of a conditional node of a graph, which kernels set; 0 if nothing did.
    pub fn conditional(&self, handle: u64) -> u32 {
        self.memory.conditional(handle)
    }

    /// Sets it.
    pub fn set_conditional(&mut self, handle: u64, value: u32) {
        self.memory.set_conditional(handle, value);
    }

    /// Runs everything that a grid of the host leads to, before it counts as done: the grid has ended, and had asked for
    /// `asked_for`.
    ///
    /// Each piece of work is complete, with all that it asked for, before the next piece of its parent begins; what is in
    /// the tail stream begins when all else of its parent is complete. That is one of the orders that CUDA allows. The stack
    /// holds what has not run, the next piece last, so that deep nests need no deep recursion here.
    pub(in crate::gpu) fn run_children(
        &mut self,
        module: ModuleId,
        report: LaunchReport,
        mut asked_for: Vec<QueuedWork>,
    ) -> Result<Launched, GpuError> {
        let mut done = report.stats.end;
        let mut waiting: Vec<QueuedWork> = Vec::new();
        loop {
            asked_for.append(&mut self.memory.take_device_work());
            let (tail, others): (Vec<_>, Vec<_>) =
                asked_for.drain(..).partition(|queued| queued.is_tail);
            waiting.extend(tail.into_iter().rev());
            waiting.extend(others.into_iter().rev());
            let Some(next) = waiting.pop() else {
                return Ok(Launched { report, done });
            };
            self.memory
                .begin_device_grid(next.depth, waiting.len() as u64);
            done = self.run_device_work(done, module, &next.work)?;
        }
    }

    /// When it is done.
    fn run_device_work(
        &mut self,
        at: Picos,
        module: ModuleId,
        work: &DeviceWork,
    ) -> Result<Picos, GpuError> {
        if let DeviceWork::Launch(launch) = work {
            return self.launch_child(at, module, launch);
        }
        let bytes = work
            .move_bytes(&mut self.memory)
            .map_err(|error| GpuError::DeviceCopy(Box::new(error)))?;
        // Within GPU memory: its bandwidth is the least that a copy or a fill takes (ADR 0026).
        Ok(self.occupy(at, self.memory_rate.time_for(bytes)))
    }

    fn launch_child(
        &mut self,
        at: Picos,
        module: ModuleId,
        launch: &DeviceLaunch,
    ) -> Result<Picos, GpuError> {
        let shape = LaunchShape {
            grid: launch.grid,
            block: launch.block,
            dynamic_shared_bytes: launch.dynamic_shared_bytes,
            cooperative: false,
            cluster: None,
        };
        let report = self.launch_one(at, module, &launch.kernel, &shape, &launch.arguments)?;
        Ok(report.stats.end)
    }
}
