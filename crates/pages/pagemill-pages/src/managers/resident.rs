//! Which segments are on the GPU, for launches that are executed only.

use super::driver::Waiter;
use super::{Manager, Place};
use crate::{SEGMENT_BYTES, SEGMENT_SHIFT};
use std::collections::BTreeSet;

/// Segments of a 4 KiB page, and its bits in a word of segments.
const PAGE_SEGMENTS: u32 = 4096 >> SEGMENT_SHIFT;
const PAGE_BITS: u64 = (1 << PAGE_SEGMENTS) - 1;

impl<W: Waiter> Manager<W> {
    /// Clears the bits of `segments`, counted from the start of managed memory, that are not wholly in GPU memory for loads
    /// and stores.
    pub fn keep_resident(&self, segments: &mut [u64]) {
        match self {
            Self::Fixed => {}
            Self::Ranges(ranges) => {
                for (at, word) in segments.iter_mut().enumerate() {
                    let first = at as u64 * 64;
                    *word = keep(*word, |bit| {
                        ranges.is_valid((first + u64::from(bit)) * SEGMENT_BYTES, SEGMENT_BYTES)
                    });
                }
            }
            Self::Driver(pages) => {
                let pages_of_word = 64 / PAGE_SEGMENTS;
                for (at, word) in segments.iter_mut().enumerate() {
                    for part in 0..pages_of_word {
                        let bits = PAGE_BITS << (part * PAGE_SEGMENTS);
                        let page = at as u32 * pages_of_word + part;
                        let is_asked = *word & bits != 0;
                        // Asked as for a write, the stricter question: of a page
                        // that both memories have, a read alone finds the copy.
                        if is_asked && pages.place(page, true) != Place::Gpu {
                            *word &= !bits;
                        }
                    }
                }
            }
        }
    }

    /// Whether a first touch of `segment` is a request. A driver serves pages: later touches of a page find it there.
    pub fn asks_for(&self, segment: u64, asked: &mut BTreeSet<u32>) -> bool {
        match self {
            Self::Fixed => false,
            Self::Ranges(_) => true,
            Self::Driver(pages) => asked.insert(pages.page_of(segment << SEGMENT_SHIFT)),
        }
    }

    /// Whether the bytes that move for a launch do not depend on the order of its accesses.
    pub fn is_order_free(&self) -> bool {
        match self {
            Self::Fixed => true,
            Self::Ranges(ranges) => ranges.is_order_free(),
            // What a batch brings depends on the faults that it holds.
            Self::Driver(_) => false,
        }
    }
}

/// The bits of `word` that `holds` holds for. Neighbors mostly agree, so a whole word is asked by its ends first.
fn keep(word: u64, holds: impl Fn(u32) -> bool) -> u64 {
    let mut left = word;
    let mut kept = 0;
    while left != 0 {
        let bit = left.trailing_zeros();
        left &= left - 1;
        kept |= u64::from(holds(bit)) << bit;
    }
    kept
}
