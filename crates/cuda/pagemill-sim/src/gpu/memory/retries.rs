//! Lookups that a waiting request repeats, as simulators do whose load-store units try again until the bytes are there.

use pagemill_types::Picos;

/// Counts lookups of requests that wait. They cost no time and take no port: only the miss rate shows them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retries {
    /// Between two lookups of a request; zero for no retries.
    period: Picos,
    count: u64,
}

impl Retries {
    /// None yet. A waiting request repeats its lookup every `period`; never if that is zero.
    pub(crate) fn every(period: Picos) -> Self {
        Self { period, count: 0 }
    }

    /// A request waits from `from` to `to`.
    #[inline]
    pub(crate) fn wait(&mut self, from: Picos, to: Picos) {
        // Counted afterwards from the length of the wait, so that a wait is one event however often it looks.
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
        let counted = |period: u64, waits: &[(u64, u64)]| {
            let mut retries = Retries::every(Picos(period));
            for (from, to) in waits {
                retries.wait(Picos(*from), Picos(*to));
            }
            retries.count()
        };
        assert_eq!(counted(0, &[(0, 1000)]), 0);
        assert_eq!(counted(14, &[(0, 140), (7, 20), (100, 129)]), 10 + 2);
    }
}
