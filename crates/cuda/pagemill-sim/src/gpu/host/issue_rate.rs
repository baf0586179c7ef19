//! The time that instructions take at least.

use crate::gpu::machine::GpuMachine;
use pagemill_types::{Clock, Picos};

/// How fast the GPU issues instructions at best.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) struct IssueRate {
    clock: Clock,
    /// Cycles of a scheduler for the cheapest instruction.
    cycles: u64,
    schedulers: u64,
}

impl IssueRate {
    pub(in crate::gpu) fn of(machine: &GpuMachine) -> Self {
        let timings = &machine.sm.timings;
        let all = [
            timings.integer,
            timings.integer_multiply,
            timings.float32,
            timings.float64,
            timings.special,
            timings.convert,
            timings.shared,
            timings.constant,
            timings.memory,
            timings.control,
        ];
        let cycles = all.iter().map(|timing| timing.issue_cycles).min();
        Self {
            clock: machine.core_clock,
            cycles: u64::from(cycles.unwrap_or(0)),
            schedulers: u64::from(machine.sm.count) * u64::from(machine.sm.schedulers),
        }
    }

    /// The least time of that many instructions of warps.
    pub(in crate::gpu) fn time_for(&self, warp_instructions: u64) -> Picos {
        // As if each instruction was the cheapest and no scheduler idle: no launch is faster.
        let cycles = (warp_instructions / self.schedulers.max(1)).saturating_mul(self.cycles);
        self.clock.cycles(cycles)
    }
}
