//! A table with a fixed number of entries, each held until a known time: migration buffers, miss-status registers.

use pagemill_types::Picos;

/// A table whose full state blocks the asker until the earliest entry frees.
///
/// Entries that have been freed are noticed only when the table looks full: a scan then, and nothing at all before,
/// is faster than keeping the few entries in order.
#[derive(Clone, Debug)]
pub struct EntryPool {
    capacity: usize,
    held_until: Vec<Picos>,
    stalls: u64,
    stalled: Picos,
}

impl EntryPool {
    /// A table of `capacity` entries, at least one.
    pub fn new(capacity: u32) -> Self {
        Self { capacity: capacity.max(1) as usize, held_until: Vec::new(), stalls: 0, stalled: Picos::ZERO }
    }

    /// Takes an entry at `at`, which counts as held only after [`EntryPool::hold_until`].
    ///
    /// # Errors
    /// When all entries are held: the time the earliest frees.
    #[inline]
    pub fn try_admit(&mut self, at: Picos) -> Result<(), Picos> {
        if self.held_until.len() < self.capacity {
            return Ok(());
        }
        match self.earliest_if_full(at) {
            None => Ok(()),
            Some(place) => {
                self.stalls += 1;
                Err(self.held_until[place])
            }
        }
    }

    /// Takes an entry for a request that comes at `at`; returns when the entry is had: `at`, or when the earliest one frees.
    ///
    /// The entry counts as held only after [`EntryPool::hold_until`], which must follow.
    #[inline]
    pub fn admit(&mut self, at: Picos) -> Picos {
        if self.held_until.len() < self.capacity {
            return at;
        }
        let Some(place) = self.earliest_if_full(at) else { return at };
        let freed = self.held_until.swap_remove(place);
        self.stalls += 1;
        self.stalled += freed - at;
        freed
    }

    /// Holds the admitted entry until `release`.
    #[inline]
    pub fn hold_until(&mut self, release: Picos) {
        debug_assert!(self.held_until.len() < self.capacity, "an entry was held without being admitted");
        self.held_until.push(release);
    }

    /// Drops the entries that are free at `at`. If none is: where the earliest to free is.
    fn earliest_if_full(&mut self, at: Picos) -> Option<usize> {
        self.held_until.retain(|&release| release > at);
        if self.held_until.len() < self.capacity {
            return None;
        }
        (0..self.held_until.len()).min_by_key(|&place| self.held_until[place])
    }

    /// How many requests found the table full.
    pub fn stalls(&self) -> u64 {
        self.stalls
    }

    /// How long they waited for an entry, summed.
    pub fn stalled(&self) -> Picos {
        self.stalled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn never_more_held_than_capacity(capacity in 1u32..5, steps in prop::collection::vec((0u64..30, 1u64..60), 1..200)) {
            let mut pool = EntryPool::new(capacity);
            let mut spans: Vec<(u64, u64)> = Vec::new();
            let mut at = 0;
            for (gap, length) in steps {
                at += gap;
                let start = pool.admit(Picos(at)).0;
                prop_assert!(start >= at);
                let overlapping = |moment: u64| spans.iter().filter(|span| span.0 <= moment && moment < span.1).count();
                prop_assert!(overlapping(start) < capacity as usize);
                if start > at {
                    // It waited no longer than needed: some entry frees exactly then.
                    prop_assert!(spans.iter().any(|span| span.1 == start));
                    prop_assert!(overlapping(at) >= capacity as usize);
                }
                pool.hold_until(Picos(start + length));
                spans.push((start, start + length));
            }
        }
    }
}
