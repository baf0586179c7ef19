//! What an advance has executed, and what it cost.

use super::step::StepTotals;
use pagemill_ptx_ir::info::Prefix;
use pagemill_ptx_native::Stay;

/// Counts straight-line stretches by differences of prefix sums.
pub(super) struct Meter<'a> {
    pub(super) before: &'a [u32],
    pub(super) costs: &'a [Prefix],
    /// Flat position the open stretch began at.
    pub(super) start: u32,
    pub(super) totals: &'a mut StepTotals,
}

impl Meter<'_> {
    /// Closes the stretch before `end`, executed by the lanes of `mask`.
    #[inline(always)]
    pub(super) fn close(&mut self, end: u32, mask: u32) {
        let (from, to) = (
            self.before[self.start as usize] as usize,
            self.before[end as usize] as usize,
        );
        let count = (to - from) as u64;
        self.start = end;
        // A stretch that machine code was entered in the middle of is counted from its beginning, and taken off before.
        self.totals.instructions = self.totals.instructions.wrapping_add(count);
        // Idle guarded lanes were taken off before the stretch was counted, hence the wrapping.
        let threads = count * u64::from(mask.count_ones());
        self.totals.thread_instructions = self.totals.thread_instructions.wrapping_add(threads);
        if !self.costs.is_empty() {
            let (from, to) = (&self.costs[from], &self.costs[to]);
            let totals = &mut *self.totals;
            totals.issue_cycles = totals.issue_cycles.wrapping_add(to.issue - from.issue);
            totals.latency_cycles = totals
                .latency_cycles
                .wrapping_add(to.latency - from.latency);
        }
    }

    /// PTX instructions of the open stretch before `pc`.
    pub(super) fn open(&self, pc: u32) -> u64 {
        u64::from(self.before[pc as usize] - self.before[self.start as usize])
    }

    /// Counts a stay in machine code, which began with no stretch open; one is open after it.
    pub(super) fn add(&mut self, stay: &Stay) {
        let totals = &mut *self.totals;
        totals.instructions = totals.instructions.wrapping_add_signed(stay.instructions);
        totals.thread_instructions = totals
            .thread_instructions
            .wrapping_add_signed(stay.threads)
            .wrapping_sub(stay.idle);
        totals.issue_cycles = totals.issue_cycles.wrapping_add(stay.cost.issue);
        totals.latency_cycles = totals.latency_cycles.wrapping_add(stay.cost.latency);
        self.start = stay.region;
    }

    /// Counts the exit that a branch led to. The warp issues it for the last lanes to come there.
    pub(super) fn count_exit(&mut self, next: usize, mask: u32, active: u32) {
        let threads = &mut self.totals.thread_instructions;
        *threads = threads.wrapping_add(mask.count_ones().into());
        if mask == active {
            self.totals.instructions += 1;
            if let (Some(from), Some(to)) = (self.costs.get(next - 1), self.costs.get(next)) {
                self.totals.issue_cycles += to.issue - from.issue;
                self.totals.latency_cycles += to.latency - from.latency;
            }
        }
    }
}
