use pagemill_types::{GOLDEN_GAMMA, mix64, random64};

/// A stream of random numbers that can be read at any place: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) as a function of
/// its counter. Inputs are generated in any order, and generated again by the check, without being stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random {
    key: u64,
}

impl Random {
    /// The stream number `stream` of `seed`.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self {
            key: mix64(mix64(seed).wrapping_add(stream.wrapping_mul(GOLDEN_GAMMA))),
        }
    }

    /// 64 uniform bits.
    pub(crate) fn bits(self, index: u64) -> u64 {
        random64(self.key, index)
    }

    /// Uniform in `0..bound`; the bias is below `bound / 2^64`.
    pub(crate) fn below(self, index: u64, bound: u64) -> u64 {
        ((u128::from(self.bits(index)) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in `0.0..1.0`, a multiple of 2^-24.
    pub(crate) fn unit_f32(self, index: u64) -> f32 {
        (self.bits(index) >> 40) as f32 * (1.0 / (1 << 24) as f32)
    }

    /// Uniform in `low..high`.
    pub(crate) fn f32_in(self, index: u64, low: f32, high: f32) -> f32 {
        low + self.unit_f32(index) * (high - low)
    }
}

#[cfg(test)]
mod tests;
