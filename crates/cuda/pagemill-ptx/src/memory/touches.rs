//! First touches of a run without time: which segments of a stretch of memory kernels use that they were not known to
//! use before.
//!
//! Machine code works on bytes without asking ([`pagemill_ptx_native`]). It may do so where every segment is known, so each
//! first touch leaves machine code and is noted here, as a page that is not mapped leaves a program for its kernel.

use crate::exec::step::{AccessSpace, MemoryAccess};
use pagemill_ptx_ir::code::AccessKind;
use pagemill_ptx_ir::line::lanes_of;
use std::ops::Range;

/// Bytes of a segment.
pub const TOUCH_BYTES: u64 = 1 << SHIFT;
const SHIFT: u32 = 7;

/// Words of segments that are looked at in each direction for the bytes around an address: 8 GiB.
const REACH_WORDS: u64 = 1 << 20;

/// The first use of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Its number: its address in units of [`TOUCH_BYTES`].
    pub segment: u64,
    /// What touched it.
    pub kind: AccessKind,
    /// Number of the instruction in its kernel.
    pub instruction: u32,
}

/// The segments of a stretch of memory: those that are known, and those that were touched since.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touches {
    first_segment: u64,
    /// One bit for each segment.
    known: Vec<u64>,
    /// One bit for each word of `known` that has no zero.
    full: Vec<u64>,
    /// In their order.
    touched: Vec<Touch>,
}

impl Touches {
    pub(crate) fn new(address: u64, known: Vec<u64>) -> Self {
        let mut full = vec![0; known.len().div_ceil(64)];
        for (at, word) in known.iter().enumerate() {
            full[at / 64] |= u64::from(*word == u64::MAX) << (at % 64);
        }
        Self {
            first_segment: address >> SHIFT,
            known,
            full,
            touched: Vec::new(),
        }
    }

    pub(crate) fn take(self) -> Vec<Touch> {
        self.touched
    }

    /// Notes what `access` touches; whether any of it was new.
    pub(crate) fn note(&mut self, access: &MemoryAccess) -> bool {
        if access.space != AccessSpace::Global {
            return false;
        }
        let before = self.touched.len();
        for lane in lanes_of(access.mask) {
            let segment = access.address(lane) >> SHIFT;
            let Some(index) = self.index(segment).filter(|&index| !self.is_known(index)) else {
                continue;
            };
            self.learn(index);
            self.touched.push(Touch {
                segment,
                kind: access.kind,
                instruction: access.instruction,
            });
        }
        self.touched.len() > before
    }

    /// The part of the addresses `allocation` around `address` that needs no look: all of it where nothing is watched.
    pub(crate) fn free_around(&self, address: u64, allocation: Range<u64>) -> Range<u64> {
        let Some(index) = self.index(address >> SHIFT) else {
            return allocation;
        };
        if !self.is_known(index) {
            return address..address;
        }
        let address_of = |index: u64| (self.first_segment + index) << SHIFT;
        let start = address_of(self.run_start(index)).max(allocation.start);
        let end = address_of(self.run_end(index)).min(allocation.end);
        start..end
    }

    /// Index of a segment, if it is watched.
    fn index(&self, segment: u64) -> Option<u64> {
        let index = segment.wrapping_sub(self.first_segment);
        (index / 64 < self.known.len() as u64).then_some(index)
    }

    fn is_known(&self, index: u64) -> bool {
        self.known[(index / 64) as usize] >> (index % 64) & 1 != 0
    }

    fn learn(&mut self, index: u64) {
        let at = (index / 64) as usize;
        self.known[at] |= 1 << (index % 64);
        if self.known[at] == u64::MAX {
            self.full[at / 64] |= 1 << (at % 64);
        }
    }

    /// The first unknown index from `index` on, or one that is far enough.
    fn run_end(&self, index: u64) -> u64 {
        let word = index / 64;
        let unknown = !self.known[word as usize] & (u64::MAX << (index % 64));
        if unknown != 0 {
            return word * 64 + u64::from(unknown.trailing_zeros());
        }
        let end = (word + REACH_WORDS).min(self.known.len() as u64);
        let mut at = word + 1;
        while at < end {
            let open = !self.full[(at / 64) as usize] & (u64::MAX << (at % 64));
            if open == 0 {
                at = (at / 64 + 1) * 64;
                continue;
            }
            at = at / 64 * 64 + u64::from(open.trailing_zeros());
            break;
        }
        match self.known.get(at as usize) {
            Some(word) if at < end => at * 64 + u64::from((!word).trailing_zeros()),
            _ => end * 64,
        }
    }

    /// The first index of the known ones that `index`, which is known, goes on from.
    fn run_start(&self, index: u64) -> u64 {
        let word = index / 64;
        let below = (1u64 << (index % 64)) - 1;
        let unknown = !self.known[word as usize] & below;
        if unknown != 0 {
            return word * 64 + 64 - u64::from(unknown.leading_zeros());
        }
        let start = word.saturating_sub(REACH_WORDS);
        let mut after = word;
        while after > start {
            let at = after - 1;
            let below = u64::MAX >> (63 - at % 64);
            let open = !self.full[(at / 64) as usize] & below;
            if open == 0 {
                after = at / 64 * 64;
                continue;
            }
            let at = at / 64 * 64 + 63 - u64::from(open.leading_zeros());
            if at < start {
                break;
            }
            let unknown = !self.known[at as usize];
            return at * 64 + 64 - u64::from(unknown.leading_zeros());
        }
        start * 64
    }
}

#[cfg(test)]
mod tests;
