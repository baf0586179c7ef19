use crate::few_or_many;

/// Runs the worlds of many seeds; `wrong_in` says what did not hold in that of a seed.
///
/// # Panics
/// Something did not hold, with the seed.
pub fn holds_for_every_seed(wrong_in: impl Fn(u64) -> Option<String>) {
    for seed in 0..few_or_many(1_000, 10_000) {
        if let Some(wrong) = wrong_in(seed) {
            panic!("seed {seed}: {wrong}");
        }
    }
}

/// Whether something does not hold in the world of a seed, in which a defect is planted.
pub fn is_found(wrong_in: impl Fn(u64) -> Option<String>) -> bool {
    (0..1_000).any(|seed| wrong_in(seed).is_some())
}
