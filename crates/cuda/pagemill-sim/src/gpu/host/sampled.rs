//! Launches of runs that do not time all of them.

use crate::gpu::common::addresses::MANAGED_BASE;
use crate::gpu::error::GpuError;
use crate::gpu::host::device::Gpu;
use crate::gpu::host::program::{LaunchShape, ModuleId};
use crate::gpu::host::report::LaunchReport;
use crate::gpu::host::sampling::{Circumstances, GroupKey};
use crate::gpu::host::timing_model::Executed;
use pagemill_ptx::{AccessKind, Launch, Patience, TOUCH_BYTES, Touch};
use pagemill_types::Picos;

impl Gpu {
    /// Times a launch or only executes it, as the run's detail wants.
    pub(in crate::gpu) fn run_by_detail(
        &mut self,
        at: Picos,
        module: ModuleId,
        shape: &LaunchShape,
        launch: &Launch,
    ) -> Result<LaunchReport, GpuError> {
        let key = GroupKey {
            module: module.0,
            kernel: launch.kernel().name.clone(),
            block: shape.block,
            shared_bytes: launch.shared_bytes(),
            blocks_log2: launch.blocks().max(1).ilog2(),
        };
        let now = Circumstances {
            replays: self.timing_model.path.pages.manager.is_order_free(),
            is_full: !self.fits() || !self.timing_model.path.pages.pinned.is_empty(),
        };
        // Blocks that wait for each other take turns by time.
        if shape.cooperative || self.timing_model.sampler.chooses(&key, now) {
            let (end, _) = self.run_timed(at, module, launch, Patience::ToTheEnd)?;
            let report = self.timing_model.ended(end)?;
            self.timing_model.sampler.note_timed(key, &report);
            return Ok(report);
        }
        self.execute_only(at, key, launch, now)
    }

    /// Whether all that the program has now fits into GPU memory, so that no page has to leave.
    fn fits(&self) -> bool {
        let live_bytes = self.allocated.live_bytes;
        !self.timing_model.migrates() || self.memory_bytes.is_none_or(|most| live_bytes <= most)
    }

    fn execute_only(
        &mut self,
        at: Picos,
        key: GroupKey,
        launch: &Launch,
        circumstances: Circumstances,
    ) -> Result<LaunchReport, GpuError> {
        // Where pages leave, what is used matters, not only what is touched first.
        let known = self.timing_model.path.known_segments(!self.fits());
        self.memory.watch_touches(MANAGED_BASE, known);
        let execution = self.execute(launch);
        let touches = self.memory.take_touches();
        let execution = execution?;
        let executed = Executed {
            least: self
                .issue_rate
                .time_for(execution.warp_instructions)
                .max(self.memory_time(&touches)),
            execution,
            touches,
            circumstances,
        };
        self.timing_model.note_executed(at, key, &executed)
    }

    /// The least time of GPU memory for loads of what no kernel has touched before: no cache has it.
    fn memory_time(&self, touches: &[Touch]) -> Picos {
        let path = &self.timing_model.path;
        let loads = touches
            .iter()
            .filter(|touch| touch.kind == AccessKind::Load && !path.was_touched(touch.segment));
        self.memory_rate
            .time_for(loads.count() as u64 * TOUCH_BYTES)
    }
}
