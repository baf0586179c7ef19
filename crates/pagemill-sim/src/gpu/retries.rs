//! Lookups that a waiting request repeats, as simulators do whose load-store units try again until the bytes are there.

use super::machine::{GpuMachine, Translation};
use pagemill_types::Picos;

/// Counts lookups of requests that wait. They cost no time and take no port: only the miss rate shows them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retries {
    /// Between two lookups of a request; zero for no retries.
    period: Picos,
    count: u64,
}

impl Retries {
    /// None yet.
    pub(crate) fn of(machine: &GpuMachine) -> Self {
        let cycles = match machine.translation {
            Translation::OneLevel { tlb, .. } => tlb.retry_cycles,
            Translation::TwoLevels(_) => 0,
        };
        Self {
            period: machine.core_clock.cycles(u64::from(cycles)),
            count: 0,
        }
    }

    /// A request waits from `from` to `to`.
    #[inline]
    pub(crate) fn wait(&mut self, from: Picos, to: Picos) {
        if self.period > Picos::ZERO {
            self.count += (to.0 - from.0) / self.period.0;
        }
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_counts_its_whole_periods() {
        let mut machine = GpuMachine::gtx480();
        let mut counted = |cycles: u32, waits: &[(u64, u64)]| {
            if let Translation::OneLevel { tlb, .. } = &mut machine.translation {
                tlb.retry_cycles = cycles;
            }
            let cycle = |count: u64| machine.core_clock.cycles(count);
            let mut retries = Retries::of(&machine);
            for (from, to) in waits {
                retries.wait(cycle(*from), cycle(*to));
            }
            retries.count()
        };
        assert_eq!(counted(0, &[(0, 1000)]), 0);
        assert_eq!(counted(14, &[(0, 140), (7, 20), (100, 129)]), 10 + 2);
    }
}
