use pagemill_types::{GOLDEN_GAMMA, mix64};

/// SplitMix64: the same numbers for a seed in every run.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        mix64(self.0)
    }

    /// A number below `limit`, which is at least 1.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next_u64() % limit
    }

    /// True once in `many` times on average.
    pub fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}
