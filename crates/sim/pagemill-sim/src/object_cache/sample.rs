use std::collections::BinaryHeap;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

/// Parts into which a sample is divided, to see how far they differ.
pub const GROUPS: usize = 8;

/// Objects that are watched in the place of all: those whose hash is small (SHARDS; Waldspurger et al., FAST 2015). All
/// requests of an object are watched, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HashSample {
    /// Hashes below this are watched; `None` watches all.
    below: Option<u64>,
    seed: u64,
}

/// An object that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Its part of the sample, below [`GROUPS`].
    pub group: usize,
}

impl HashSample {
    /// Watches about `rate` of all objects, from above 0 to 1; other seeds watch others.
    pub fn of_rate(rate: f64, seed: u64) -> Self {
        let below = rate * 2_f64.powi(64);
        Self {
            below: (below < u64::MAX as f64).then_some((below as u64).max(1)),
            seed,
        }
    }

    /// The share of all objects that it watches.
    pub fn rate(&self) -> f64 {
        self.below
            .map_or(1.0, |below| below as f64 / 2_f64.powi(64))
    }

    /// Whether the object with this key is watched.
    #[inline]
    pub fn watches(&self, key: u64) -> Option<Watched> {
        let Some(below) = self.below else {
            return Some(Watched { group: 0 });
        };
        let hash = hash(key, self.seed);
        (hash < below).then(|| Watched {
            group: (mix(hash) >> 61) as usize,
        })
    }
}

fn hash(key: u64, seed: u64) -> u64 {
    mix(key ^ mix(seed))
}

/// Every bit of the result depends on every bit of `value` (splitmix64).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ value >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ value >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ value >> 31
}

/// The objects with the smallest hashes, a limited number: they say which rate watches so many.
#[derive(Debug)]
pub struct SmallestHashes {
    limit: usize,
    seed: u64,
    below: Option<u64>,
    /// The bytes of each object, by hash.
    bytes: FxHashMap<u64, u32>,
    largest_first: BinaryHeap<u64>,
}

impl SmallestHashes {
    /// At most `limit` objects; `usize::MAX` for all, with the rate of `sample`.
    pub fn new(limit: usize, sample: &HashSample) -> Self {
        Self {
            limit,
            seed: sample.seed,
            below: sample.below,
            bytes: FxHashMap::default(),
            largest_first: BinaryHeap::new(),
        }
    }

    /// An object is requested.
    #[inline]
    pub fn request(&mut self, key: u64, bytes: u32) {
        let hash = hash(key, self.seed);
        if self.below.is_some_and(|below| hash >= below) {
            return;
        }
        let Entry::Vacant(place) = self.bytes.entry(hash) else {
            return;
        };
        place.insert(bytes);
        if self.limit != usize::MAX {
            self.largest_first.push(hash);
            if self.largest_first.len() > self.limit {
                self.below = self.largest_first.pop();
                if let Some(largest) = self.below {
                    self.bytes.remove(&largest);
                }
            }
        }
    }

    /// The sample that watches exactly these objects.
    pub fn sample(&self) -> HashSample {
        HashSample {
            below: self.below,
            seed: self.seed,
        }
    }

    /// Bytes of all objects, those that are not watched by estimate.
    pub fn footprint_bytes(&self) -> f64 {
        let watched: u64 = self.bytes.values().map(|bytes| u64::from(*bytes)).sum();
        watched as f64 / self.sample().rate()
    }
}

#[cfg(test)]
mod tests;
