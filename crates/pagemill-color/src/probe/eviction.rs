use super::TimedMemory;

/// Tells pages that were pushed out of the cache from those that were not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Threshold {
    /// Cycles of a page that is in the cache.
    pub hit_cycles: u64,
    /// Cycles of a page that is not.
    pub miss_cycles: u64,
}

impl Threshold {
    /// From some pages, read again after nothing and after everything else.
    pub fn measure(memory: &mut dyn TimedMemory) -> Self {
        const SAMPLES: usize = 9;
        let pages = memory.pages();
        let victims = (0..SAMPLES).map(|sample| sample * pages / SAMPLES);
        let (mut hits, mut misses) = (Vec::new(), Vec::new());
        for victim in victims {
            let others: Vec<usize> = (0..pages).filter(|page| *page != victim).collect();
            // What is near in time is a hit whatever the cache; a few pages in between leave the first level only.
            hits.push(memory.reload(victim, &others[..others.len().min(2)]));
            misses.push(memory.reload(victim, &others));
        }
        Self {
            hit_cycles: median(hits),
            miss_cycles: median(misses),
        }
    }

    /// Whether the two can be told apart.
    pub fn is_clear(self) -> bool {
        self.miss_cycles * 10 > self.hit_cycles * 13
    }

    /// Whether `others` push `victim` out: the majority of some tries.
    pub fn evicts(self, memory: &mut dyn TimedMemory, others: &[usize], victim: usize) -> bool {
        const TRIES: usize = 5;
        let middle = self.hit_cycles.midpoint(self.miss_cycles);
        let (mut yes, mut no) = (0, 0);
        while yes <= TRIES / 2 && no <= TRIES / 2 {
            if memory.reload(victim, others) > middle {
                yes += 1;
            } else {
                no += 1;
            }
        }
        yes > no
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
        let mut parts = 4;
        loop {
            let part = set.len().div_ceil(parts).max(1);
            let mut start = 0;
            let before = set.len();
            while start < set.len() {
                let end = (start + part).min(set.len());
                let rest = [&set[..start], &set[end..]].concat();
                if self.evicts(memory, &rest, victim) {
                    set = rest;
                } else {
                    start = end;
                }
            }
            if part == 1 && set.len() == before {
                return Some(set);
            }
            parts = (parts * 2).min(set.len().max(1));
        }
    }
}

/// The middle one of the values; 0 without any.
pub(super) fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}
