//! Caches of objects without a clock: many capacities in one pass, and samples that stand for all objects.

mod lru_sweep;
mod sample;

pub use lru_sweep::LruSweep;
pub use sample::{GROUPS, HashSample, SmallestHashes, Watched};
