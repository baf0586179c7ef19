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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_gives_the_published_numbers() {
        // First outputs of SplitMix64 started at state 0, as published with the xoshiro generators.
        let outputs = [1, 2, 3].map(|step: u64| mix64(step.wrapping_mul(GOLDEN_GAMMA)));
        let published = [
            0xe220_a839_7b1d_cdaf,
            0x6e78_9e6a_a1b9_65f4,
            0x06c4_5d18_8009_454f,
        ];
        assert_eq!(outputs, published);
    }
}
