//! A table with a fixed number of entries, each held until a known time: migration buffers, miss-status registers.

use pagemill_types::Picos;
use std::collections::VecDeque;

/// A table whose full state blocks the asker until the earliest entry frees.
///
/// Entries are kept in order of their release. Releases come nearly in order, so putting one in its place moves few others.
#[derive(Clone, Debug)]
pub struct EntryPool {
    capacity: usize,
    held_until: VecDeque<Picos>,
    stalls: u64,
    stalled: Picos,
}

impl EntryPool {
    /// A table of `capacity` entries, at least one.
    pub fn new(capacity: u32) -> Self {
        Self {
            capacity: capacity.max(1) as usize,
            held_until: VecDeque::new(),
            stalls: 0,
            stalled: Picos::ZERO,
        }
    }

    /// Takes an entry at `at`, which counts as held only after [`EntryPool::hold_until`].
    ///
    /// # Errors
    /// When all entries are held: the time the earliest frees.
    #[inline]
    pub fn try_admit(&mut self, at: Picos) -> Result<(), Picos> {
        self.release(at);
        if self.held_until.len() < self.capacity {
            return Ok(());
        }
        self.stalls += 1;
        Err(self.held_until[0])
    }

    /// Takes an entry for a request that comes at `at`; returns when the entry is had: `at`, or when the earliest one frees.
    ///
    /// The entry counts as held only after [`EntryPool::hold_until`], which must follow.
    #[inline]
    pub fn admit(&mut self, at: Picos) -> Picos {
        self.release(at);
        if self.held_until.len() < self.capacity {
            return at;
        }
        let freed = self.held_until.pop_front().unwrap_or(at);
        self.stalls += 1;
        self.stalled += freed - at;
        freed
    }

    /// Holds the admitted entry until `release`.
    #[inline]
    pub fn hold_until(&mut self, release: Picos) {
        debug_assert!(
            self.held_until.len() < self.capacity,
            "an entry was held without being admitted"
        );
        self.held_until.push_back(release);
        // Entries end nearly in the order in which they began: a step or two from the back, where a
        // heap would move keys each time.
        let mut place = self.held_until.len() - 1;
        while place > 0 && self.held_until[place - 1] > release {
            self.held_until.swap(place - 1, place);
            place -= 1;
        }
    }

    #[inline]
    fn release(&mut self, at: Picos) {
        while self
            .held_until
            .front()
            .is_some_and(|&earliest| earliest <= at)
        {
            self.held_until.pop_front();
        }
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
