use super::TimedMemory;

/// Distinguishes pages that were pushed out of the cache from those that were not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Threshold {
    /// Cycles of a page that is in the cache.
    pub hit_cycles: u64,
    /// Cycles of a page that is not.
    pub miss_cycles: u64,
}

impl Threshold {
    /// From some pages, read again after a few others and after all others. All together are three times what the cache holds.
    pub fn measure(memory: &mut dyn TimedMemory) -> Self {
        const SAMPLES: usize = 25;
        let pages = memory.pages();
        let victims = (0..SAMPLES).map(|sample| sample * pages / SAMPLES);
        let (mut hits, mut misses) = (Vec::new(), Vec::new());
        for victim in victims {
            let others: Vec<usize> = (0..pages).filter(|page| *page != victim).collect();
            // So many leave the smaller caches, and not this one, which holds a third of all.
            hits.push(memory.reload(victim, &others[..pages / 16]));
            misses.push(memory.reload(victim, &others));
        }
        Self {
            hit_cycles: median(hits),
            miss_cycles: median(misses),
        }
    }

    /// Whether the two can be told apart.
    pub fn is_clear(self) -> bool {
        self.miss_cycles * 10 > self.hit_cycles * 12
    }

    /// Whether `others` push `victim` out. Other work on the machine pushes pages out as well, and nothing brings them back: nearly all
    /// tries must agree.
    pub fn evicts(self, memory: &mut dyn TimedMemory, others: &[usize], victim: usize) -> bool {
        const TRIES: usize = 7;
        const NEEDED: usize = 6;
        let middle = self.hit_cycles.midpoint(self.miss_cycles);
        let (mut yes, mut no) = (0, 0);
        while yes < NEEDED && no <= TRIES - NEEDED {
            if memory.reload(victim, others) > middle {
                yes += 1;
            } else {
                no += 1;
            }
        }
        yes >= NEEDED
    }

    /// The fewest of `pool` that still push `victim` out: parts that are not needed are left away, in ever smaller parts (group
    /// testing: Vila, Köpf and Morales 2019). `None` if all of them together do not.
    pub fn smallest_set(
        self,
        memory: &mut dyn TimedMemory,
        pool: &[usize],
        victim: usize,
    ) -> Option<Vec<usize>> {
        let mut set: Vec<usize> = pool
            .iter()
            .copied()
            .filter(|page| *page != victim)
            .collect();
        if !self.evicts(memory, &set, victim) {
            return None;
        }
        let (mut parts, mut mistakes) = (4, 0);
        while mistakes < MISTAKES_MAX {
            let part = set.len().div_ceil(parts).max(1);
            let smaller = self.without_needless_parts(memory, &set, part, victim);
            if !self.evicts(memory, &smaller, victim) {
                // Something else pushed the page out, and a part was left away that is needed.
                mistakes += 1;
                continue;
            }
            if part == 1 && smaller.len() == set.len() {
                return Some(set);
            }
            set = smaller;
            parts = (parts * 2).min(set.len().max(1));
        }
        None
    }

    /// One pass over the parts of a set.
    fn without_needless_parts(
        self,
        memory: &mut dyn TimedMemory,
        set: &[usize],
        part: usize,
        victim: usize,
    ) -> Vec<usize> {
        let mut set = set.to_vec();
        let mut start = 0;
        while start < set.len() {
            let end = (start + part).min(set.len());
            let rest = [&set[..start], &set[end..]].concat();
            if self.evicts(memory, &rest, victim) {
                set = rest;
            } else {
                start = end;
            }
        }
        set
    }
}

/// Passes that may fail before a search is given up.
const MISTAKES_MAX: usize = 20;

/// The middle one of the values; 0 without any.
pub(super) fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}
