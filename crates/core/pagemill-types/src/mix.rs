/// The odd number nearest to 2^64 over the golden ratio: the step of SplitMix64's counter.
pub const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's mixing: a one-to-one function of 64 bits whose result looks random (Steele, Lea and Flood: Fast splittable
/// pseudorandom number generators, OOPSLA 2014).
#[inline]
pub const fn mix64(value: u64) -> u64 {
    let mixed = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Output `index` of SplitMix64 started at state `seed`, from 0.
#[inline]
pub const fn random64(seed: u64, index: u64) -> u64 {
    mix64(seed.wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA)))
}

#[cfg(test)]
mod tests;
