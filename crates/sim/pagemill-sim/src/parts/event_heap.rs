//! Which warp runs next: a heap of packed (time, warp) keys.

use pagemill_types::Picos;

/// Bits of a key that name the warp.
pub(crate) const WARP_BITS: u32 = 14;

/// Times are kept relative to the launch: 2^50 ps are 18 minutes of simulated time in one kernel.
pub(crate) const MAX_LAUNCH_TIME: Picos = Picos(1 << (64 - WARP_BITS));

/// A min-heap in which the running warp stays on top until it is told when to run again, so that a warp
/// which remains the earliest costs two comparisons.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventHeap {
    keys: Vec<u64>,
    origin: Picos,
    overflowed: bool,
    /// The last event that happened: time never runs backwards.
    #[cfg(debug_assertions)]
    latest: u64,
}

impl EventHeap {
    /// Empties the heap for a launch at `origin`.
    pub(crate) fn restart(&mut self, origin: Picos) {
        self.keys.clear();
        self.origin = origin;
        self.overflowed = false;
        #[cfg(debug_assertions)]
        {
            self.latest = 0;
        }
    }

    /// Whether an event lay beyond what a launch can last: its time, and all that follows, means nothing.
    #[inline]
    pub(crate) fn overflowed(&self) -> bool {
        self.overflowed
    }

    #[inline]
    fn key(&mut self, at: Picos, warp: u32) -> u64 {
        debug_assert!(at >= self.origin, "an event before the launch");
        let mut since = at.0 - self.origin.0;
        if since >= MAX_LAUNCH_TIME.0 {
            self.overflowed = true;
            since = MAX_LAUNCH_TIME.0 - 1;
        }
        (since << WARP_BITS) | u64::from(warp)
    }

    /// Counts time from `origin` on, which no event may be before: so a run can last longer than a key can tell.
    pub(crate) fn move_origin(&mut self, origin: Picos) {
        let passed = origin.saturating_since(self.origin).0 << WARP_BITS;
        debug_assert!(self.keys.iter().all(|&key| key >= passed));
        self.keys.iter_mut().for_each(|key| *key -= passed);
        self.origin = origin;
        #[cfg(debug_assertions)]
        {
            self.latest = self.latest.saturating_sub(passed);
        }
    }

    /// What times are counted from.
    pub(crate) fn origin(&self) -> Picos {
        self.origin
    }

    /// The earliest event, by time and then by warp.
    #[inline]
    pub(crate) fn top(&self) -> Option<(Picos, u32)> {
        let &key = self.keys.first()?;
        Some((
            self.origin + Picos(key >> WARP_BITS),
            (key & ((1 << WARP_BITS) - 1)) as u32,
        ))
    }

    /// The top event happens now: no event may come before it any more.
    #[inline]
    pub(crate) fn enter_top(&mut self) {
        #[cfg(debug_assertions)]
        if let Some(&key) = self.keys.first() {
            debug_assert!(
                key >> WARP_BITS >= self.latest >> WARP_BITS,
                "time ran backwards"
            );
            self.latest = key;
        }
    }

    pub(crate) fn push(&mut self, at: Picos, warp: u32) {
        let key = self.key(at, warp);
        self.keys.push(key);
        let mut hole = self.keys.len() - 1;
        while hole > 0 {
            let parent = (hole - 1) / 2;
            if self.keys[parent] <= key {
                break;
            }
            self.keys[hole] = self.keys[parent];
            hole = parent;
        }
        self.keys[hole] = key;
    }

    /// The top event's warp runs again at `at`.
    #[inline]
    pub(crate) fn replace_top(&mut self, at: Picos, warp: u32) {
        let key = self.key(at, warp);
        self.sift_down(key);
    }

    /// The top event's warp has nothing to do for now.
    pub(crate) fn pop(&mut self) {
        if let Some(last) = self.keys.pop()
            && !self.keys.is_empty()
        {
            self.sift_down(last);
        }
    }

    #[inline]
    fn sift_down(&mut self, key: u64) {
        let keys = &mut self.keys[..];
        let mut hole = 0;
        let mut child = 1;
        while child + 1 < keys.len() {
            // Which child is smaller cannot be predicted, so no branch asks for it.
            child += usize::from(keys[child + 1] < keys[child]);
            if keys[child] >= key {
                break;
            }
            keys[hole] = keys[child];
            hole = child;
            child = 2 * hole + 1;
        }
        if child + 1 == keys.len() && keys[child] < key {
            keys[hole] = keys[child];
            hole = child;
        }
        keys[hole] = key;
    }
}

#[cfg(test)]
mod tests;
