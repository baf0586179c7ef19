//! Which warp runs next: a tournament of packed (time, warp) keys.
//!
//! Each warp has a leaf, and each node above is the least of the four below it. When a warp's key changes, the nodes that
//! change and those they are compared with are known before any is compared: the processor loads them all at once, where a
//! heap that moves keys waits at each level to know where to go next.

use pagemill_types::Picos;

/// Bits of a key that name the warp.
pub const WARP_BITS: u32 = 14;

/// Times are kept relative to the launch: 2^50 ps are 18 minutes of simulated time in one kernel.
pub const MAX_LAUNCH_TIME: Picos = Picos(1 << (64 - WARP_BITS));

/// Nodes below one node. Those below node `n` are `FANOUT * (n + 1)` and the next ones; node 0 is the root.
const FANOUT: usize = 4;

/// The key of a warp that is not due: behind all others.
const NONE: u64 = u64::MAX;

/// The earliest of the warps that are due. The running warp stays on top until it is told when to run again.
#[derive(Clone, Debug, Default)]
pub struct EventHeap {
    nodes: Vec<u64>,
    /// The node of warp 0.
    first_leaf: usize,
    origin: Picos,
    overflowed: bool,
    /// The last event that happened: time never runs backwards.
    #[cfg(debug_assertions)]
    latest: u64,
}

impl EventHeap {
    /// Empties the heap for a launch at `origin` of warps whose numbers are below `warps`.
    pub fn restart(&mut self, origin: Picos, warps: u32) {
        let mut leaves = 1;
        self.first_leaf = 0;
        while leaves < warps as usize {
            leaves *= FANOUT;
            self.first_leaf = FANOUT * (self.first_leaf + 1);
        }
        self.nodes.clear();
        self.nodes.resize(self.first_leaf + leaves, NONE);
        self.origin = origin;
        self.overflowed = false;
        #[cfg(debug_assertions)]
        {
            self.latest = 0;
        }
    }

    /// Whether an event lay beyond what a launch can last: its time, and all that follows, means nothing.
    #[inline]
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    #[inline]
    fn key(&mut self, at: Picos, warp: u32) -> u64 {
        debug_assert!(at >= self.origin, "an event before the launch");
        let mut since = at.0 - self.origin.0;
        if since >= MAX_LAUNCH_TIME.0 {
            self.overflowed = true;
            // One below the most, the key of the last warp would be `NONE`.
            since = MAX_LAUNCH_TIME.0 - 2;
        }
        // The time is above the warp: at one time the lowest warp goes first, whatever happened before.
        (since << WARP_BITS) | u64::from(warp)
    }

    /// Counts time from `origin` on, which no event may be before: so a run can last longer than a key can tell.
    pub fn move_origin(&mut self, origin: Picos) {
        let passed = origin.saturating_since(self.origin).0 << WARP_BITS;
        for key in self.nodes.iter_mut().filter(|key| **key != NONE) {
            debug_assert!(*key >= passed);
            *key -= passed;
        }
        self.origin = origin;
        #[cfg(debug_assertions)]
        {
            self.latest = self.latest.saturating_sub(passed);
        }
    }

    /// What times are counted from.
    pub fn origin(&self) -> Picos {
        self.origin
    }

    /// The earliest event, by time and then by warp.
    #[inline]
    pub fn top(&self) -> Option<(Picos, u32)> {
        let key = self.first()?;
        Some((
            self.origin + Picos(key >> WARP_BITS),
            (key & ((1 << WARP_BITS) - 1)) as u32,
        ))
    }

    /// The warp that is due next after the top event's, unless that pushes another one before it.
    #[inline]
    pub fn second(&self) -> Option<u32> {
        let (_, warp) = self.top()?;
        let (mut at, mut least) = (self.first_leaf + warp as usize, NONE);
        while at > 0 {
            // The least of those that the top event beat at each level: it was compared with no others.
            let others = [1, 2, 3].map(|other| self.nodes[at ^ other]);
            least = others[0].min(others[1]).min(others[2]).min(least);
            at = at / FANOUT - 1;
        }
        (least != NONE).then_some((least & ((1 << WARP_BITS) - 1)) as u32)
    }

    #[inline]
    fn first(&self) -> Option<u64> {
        let &key = self.nodes.first()?;
        (key != NONE).then_some(key)
    }

    /// The top event happens now: no event may come before it any more.
    #[inline]
    pub fn enter_top(&mut self) {
        #[cfg(debug_assertions)]
        if let Some(key) = self.first() {
            debug_assert!(
                key >> WARP_BITS >= self.latest >> WARP_BITS,
                "time ran backwards"
            );
            self.latest = key;
        }
    }

    /// Warp `warp`, which is not due, runs at `at`.
    #[inline]
    pub fn push(&mut self, at: Picos, warp: u32) {
        let key = self.key(at, warp);
        debug_assert_eq!(self.nodes[self.first_leaf + warp as usize], NONE);
        self.set(warp, key);
    }

    /// The top event's warp runs again at `at`.
    #[inline]
    pub fn replace_top(&mut self, at: Picos, warp: u32) {
        debug_assert_eq!(self.top().map(|(_, top)| top), Some(warp));
        let key = self.key(at, warp);
        self.set(warp, key);
    }

    /// The top event's warp has nothing to do for now.
    #[inline]
    pub fn pop(&mut self) {
        if let Some((_, warp)) = self.top() {
            self.set(warp, NONE);
        }
    }

    #[inline]
    fn set(&mut self, warp: u32, key: u64) {
        let nodes = &mut self.nodes[..];
        let (mut at, mut least) = (self.first_leaf + warp as usize, key);
        nodes[at] = key;
        while at > 0 {
            // The nodes below one begin at a multiple of four, so siblings differ in the two lowest bits alone.
            let others = [1, 2, 3].map(|other| nodes[at ^ other]);
            least = others[0].min(others[1]).min(others[2]).min(least);
            at = at / FANOUT - 1;
            // Nodes above a node that did not change do not change.
            if nodes[at] == least {
                break;
            }
            nodes[at] = least;
        }
    }
}

#[cfg(test)]
mod tests;
