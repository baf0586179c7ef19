use pagemill_types::random64;

/// A random order of ranks that needs no table: a Feistel network over a power of four, walked until it stays below the number of
/// ranks (Black and Rogaway: Ciphers with arbitrary finite domains, CT-RSA 2002).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shuffle {
    ranks: u32,
    half_bits: u32,
    seed: u64,
}

/// Fewer favor some pairs of a few ranks.
const ROUNDS: u64 = 12;

impl Shuffle {
    /// Order `index` of those that `seed` gives, of `ranks` ranks.
    pub fn new(ranks: u32, seed: u64, index: u64) -> Self {
        let bits = u32::BITS - ranks.saturating_sub(1).leading_zeros();
        Self {
            ranks,
            half_bits: bits.div_ceil(2).max(1),
            seed: random64(seed ^ random64(index, 0), 0),
        }
    }

    /// The rank next to `rank`: places 0 and 1, 2 and 3, and so on are pairs. The last of an odd number is alone.
    pub fn beside(&self, rank: u32) -> u32 {
        let place = self.walk(rank, Self::forward);
        let beside = place ^ 1;
        if beside < self.ranks {
            self.walk(beside, Self::backward)
        } else {
            rank
        }
    }

    fn walk(&self, start: u32, step: impl Fn(&Self, u64) -> u64) -> u32 {
        let mut value = u64::from(start);
        loop {
            value = step(self, value);
            if value < u64::from(self.ranks) {
                return value as u32;
            }
        }
    }

    fn forward(&self, value: u64) -> u64 {
        let (mut high, mut low) = self.halves(value);
        for round in 0..ROUNDS {
            (high, low) = (low, high ^ self.round(low, round));
        }
        high << self.half_bits | low
    }

    fn backward(&self, value: u64) -> u64 {
        let (mut high, mut low) = self.halves(value);
        for round in (0..ROUNDS).rev() {
            (high, low) = (low ^ self.round(high, round), high);
        }
        high << self.half_bits | low
    }

    fn halves(&self, value: u64) -> (u64, u64) {
        (value >> self.half_bits, value & self.mask())
    }

    fn round(&self, half: u64, round: u64) -> u64 {
        random64(self.seed ^ random64(half << 8 | round, 0), 0) & self.mask()
    }

    fn mask(&self) -> u64 {
        (1 << self.half_bits) - 1
    }
}

#[cfg(test)]
mod tests;
