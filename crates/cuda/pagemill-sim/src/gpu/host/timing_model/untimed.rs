//! Launches that are executed only: their page traffic is that of their first touches, their time an estimate or a bound.

use super::TimingModel;
use crate::gpu::error::{GpuError, LaunchFailure};
use crate::gpu::host::report::LaunchReport;
use crate::gpu::host::sampling::{Circumstances, GroupKey};
use crate::gpu::stats::{ExecutionStats, LaunchStats};
use pagemill_pages::{TimelineEvent, TimelineKind};
use pagemill_ptx::{Touch, readable_name};
use pagemill_types::Picos;

/// What an execution without time has shown.
pub(in crate::gpu) struct Executed {
    pub(in crate::gpu) execution: ExecutionStats,
    /// Segments that it was the first to touch, or whose pages were not on the GPU.
    pub(in crate::gpu) touches: Vec<Touch>,
    /// The least time that its instructions and first touches take.
    pub(in crate::gpu) least: Picos,
    pub(in crate::gpu) circumstances: Circumstances,
}

impl TimingModel {
    /// Notes a launch of `key` that was executed only: its pages move now, and its time is estimated.
    pub(in crate::gpu) fn note_executed(
        &mut self,
        at: Picos,
        key: GroupKey,
        executed: &Executed,
    ) -> Result<LaunchReport, GpuError> {
        let start = at.max(self.kernels_done);
        let before = self.path.stats();
        let place = self.launches.len();
        let number = u32::try_from(place).unwrap_or(u32::MAX);
        self.path.host_link.ledger.set_launch(Some(number));
        if let Some(pages) = self.path.host_link.timeline.pages() {
            pages.launch(&readable_name(&key.kernel), start.0);
        }
        let begin = start + self.launch_overhead;
        let moved = self.path.replay(begin, &executed.touches);
        self.path.host_link.ledger.set_launch(None);
        let mut report = LaunchReport {
            kernel: key.kernel.clone(),
            stats: LaunchStats {
                start,
                end: start,
                execution: executed.execution,
                memory: self.path.stats().since(&before),
                occupancy: None,
            },
        };
        let least = moved.max(begin + executed.least) - start;
        // The estimate may be less than what pages and instructions need at least; the sampler takes the larger.
        let time = self
            .sampler
            .note_untimed(key, place, &report, least, executed.circumstances);
        let end = start + time;
        report.stats.end = end;
        self.kernels_done = end;
        self.kernel_time += time;
        if let Some(pages) = self.path.host_link.timeline.pages() {
            pages.ended(end.0);
        }
        let name = report.kernel.clone();
        self.path
            .host_link
            .timeline
            .record_kernel(|| TimelineEvent {
                kind: TimelineKind::Kernel { name },
                start,
                end,
                bytes: 0,
            });
        self.execution.add(&executed.execution);
        let is_over = self.execution.thread_instructions > self.instruction_limit;
        self.launches.push(report.clone());
        match is_over {
            false => Ok(report),
            true => {
                let limit = self.instruction_limit;
                Err(self.launch_error(&report.kernel, LaunchFailure::InstructionLimit { limit }))
            }
        }
    }

    /// Replaces the estimates of the run, which ended at `end`, by those from all samples. Launches run one after the other, so
    /// the end of the run moves by as much: returns when it is.
    pub(super) fn estimate_again(&mut self, mut end: Picos) -> Picos {
        for (place, time) in self.sampler.estimates() {
            let Some(launch) = self.launches.get_mut(place) else {
                continue;
            };
            let earlier = launch.time();
            launch.stats.end = launch.stats.start + time;
            end = (end + time) - earlier;
            self.kernel_time = (self.kernel_time + time) - earlier;
        }
        end
    }
}
