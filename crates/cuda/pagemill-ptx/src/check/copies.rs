//! Copies to shared memory that are under way: `cp.async`, until the thread that asked for it waits.
//!
//! Groups are not told apart: whichever wait comes first ends all copies of its thread.

use super::shadow::Valid;
use super::{BlockCheck, Checker, Place};
use crate::exec::access::Stores;
use pagemill_ptx_ir::line::LANES;

/// Copies of one block.
#[derive(Clone, Debug, Default)]
pub(super) struct Flying {
    /// A bit for each byte that is to come.
    bits: Valid,
    /// Who asked, for which bytes.
    each: Vec<(u32, usize, usize)>,
}

impl Flying {
    pub(super) fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// `thread` asks for `bytes` bytes at `offset` of the `room` bytes of shared memory.
    pub(super) fn start(&mut self, thread: u32, (offset, bytes): (usize, usize), room: usize) {
        if self.each.is_empty() {
            self.bits = Valid::none(room);
        }
        self.bits.set(offset, bytes, true);
        self.each.push((thread, offset, bytes));
    }

    /// The threads that `is_meant` have waited.
    pub(super) fn end(&mut self, is_meant: impl Fn(u32) -> bool) {
        let (done, rest) = std::mem::take(&mut self.each)
            .into_iter()
            .partition(|(thread, ..)| is_meant(*thread));
        self.each = rest;
        let done: Vec<(u32, usize, usize)> = done;
        for (_, offset, bytes) in done {
            self.bits.set(offset, bytes, false);
        }
        for &(_, offset, bytes) in &self.each {
            self.bits.set(offset, bytes, true);
        }
    }

    pub(super) fn clear(&mut self) {
        self.each.clear();
    }

    /// Whether some byte of a range is still to come.
    pub(super) fn touches(&self, offset: usize, bytes: usize) -> bool {
        !self.each.is_empty() && self.bits.any(offset, bytes)
    }
}

impl BlockCheck {
    /// The lanes of the running warp have waited for their copies.
    fn copies_came(&mut self, mask: u32) {
        let warp = self.warp;
        self.flying.end(|thread| {
            let lane = thread % LANES as u32;
            thread / LANES as u32 == warp && mask >> lane & 1 != 0
        });
    }
}

impl Stores<'_> {
    /// A fence, or a wait for copies, of the lanes of `mask`.
    pub(crate) fn fence(&mut self, mask: u32, instruction: u32) {
        let (Some(block), Some(checker)) = (self.check.as_deref_mut(), &self.memory.checker) else {
            return;
        };
        let site = checker.site(instruction);
        match site.is_some_and(|site| site.awaits_copies) {
            true => block.copies_came(mask),
            false => block.fence(site.is_some_and(|site| site.is_of_block)),
        }
    }
}

impl Checker {
    pub(super) fn note_early(&mut self, place: Place, offset: u64, bytes: usize) {
        self.note(super::Defect::Uninitialized, place, || {
            format!(
                "load of {bytes} bytes at offset {offset:#x} of shared memory, to which cp.async copies: no wait of the thread that \
                 asked for it came before"
            )
        });
    }
}

#[cfg(test)]
mod tests;
