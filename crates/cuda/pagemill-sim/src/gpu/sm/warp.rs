//! State of one resident warp between its steps.

use crate::gpu::ALL_SECTORS;
use crate::gpu::common::request::{Request, Route, Stage};
use crate::gpu::machine::{AtomicSpec, SmSpec};
use crate::gpu::sm::coalesce::Segments;
use crate::gpu::stream::{AccessKind, MemoryAccess};
use pagemill_types::Picos;
use pagemill_types::warm;

/// Scoreboard slots of a warp.
pub(crate) const SLOTS: usize = 64;

/// Slot number of requests without a waiting result.
pub(crate) const NO_SLOT: u8 = SLOTS as u8;

/// What a warp does when its event comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No block is in its slot, or it has ended.
    #[default]
    Ended,
    /// Makes its next step.
    Run,
    /// Wants the load-store unit for its memory instruction.
    Access,
    /// Has the load-store unit.
    Issue,
    /// Waits until none of these slots is pending.
    WaitSlots(u64),
    /// Waits until none of its stores waits for a page.
    WaitStores,
    /// Waits for the other warps of its block.
    Barrier,
    /// Waits for the other warps of its cluster.
    ClusterBarrier,
    /// Has run its last instruction and waits until nothing of it is pending.
    Drain,
}

/// A resident warp. What most of its moves need is in the first two lines of the host's cache, and the slots that kernels
/// use first are in one more.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Warp {
    pub(crate) phase: Phase,
    /// When the warp arrived where it waits.
    pub(crate) arrived: Picos,
    /// How long it has waited for the load-store unit, and held it, since it waited for anything else.
    pub(crate) behind: Picos,
    /// Slots with requests that wait for a translation or a page.
    pending: u64,
    pending_unslotted: u32,
    pub(crate) access: PendingAccess,
    /// When the data of each slot is there, as far as known.
    ready: [Picos; SLOTS],
    pending_count: [u16; SLOTS],
}

/// Bytes of a lane from which on a warp's access passes L1 in parts.
const WIDE_BYTES: u32 = 16;

/// A memory instruction on its way through the load-store unit.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct PendingAccess {
    /// First segment that is not issued yet.
    pub(crate) next: u32,
    pub(crate) kind: AccessKind,
    pub(crate) route: Route,
    pub(crate) slot: u8,
    /// Of an atomic, cycles that L2 changes each segment, on average.
    pub(crate) lanes: u8,
    /// Whether a lane has 16 bytes or more.
    pub(crate) is_wide: bool,
    /// What the next segment still has to do.
    pub(crate) stage: Stage,
    /// The instruction of its kernel.
    pub(crate) instruction: u32,
    pub(crate) segments: Segments,
    /// Of each of them, the sectors that are touched.
    sectors: [u8; 32],
}

impl Default for PendingAccess {
    fn default() -> Self {
        Self {
            segments: Segments::default(),
            sectors: [ALL_SECTORS; 32],
            next: 0,
            kind: AccessKind::Load,
            route: Route::Cached,
            slot: NO_SLOT,
            lanes: 0,
            is_wide: false,
            stage: Stage::Issued,
            instruction: 0,
        }
    }
}

impl PendingAccess {
    /// Coalesces a warp-wide access. Its sectors are looked at if it may go over a link that brings them one by one.
    #[inline]
    pub(crate) fn set(&mut self, access: &MemoryAccess, sm: &SmSpec, by_sectors: bool) {
        self.segments.set_access(access);
        self.sectors = match by_sectors {
            true => self
                .segments
                .sectors(&access.addresses(), access.mask, access.lane_bytes),
            false => [ALL_SECTORS; 32],
        };
        self.next = 0;
        self.kind = access.kind;
        self.is_wide = access.lane_bytes >= WIDE_BYTES;
        self.route = Route::of(access, sm.l1_loads);
        self.slot = access.slot.unwrap_or(NO_SLOT);
        self.stage = Stage::Issued;
        self.instruction = access.instruction;
        // Only atomics take their lanes one by one; no other access pays for the division.
        self.lanes = match access.kind {
            AccessKind::Load | AccessKind::Store => 1,
            AccessKind::Atomic | AccessKind::Reduction => {
                let segments = self.segments.as_slice().len().max(1) as u32;
                let cycles = sm.atomics.map_or_else(
                    || access.mask.count_ones(),
                    |atomics| changing_cycles(access, atomics),
                );
                // Each segment is a request of its own: the warp's cycles are dealt out evenly over them.
                cycles.div_ceil(segments).min(u32::from(u8::MAX)) as u8
            }
        };
    }
}

// At 8 words a cycle, 32 lanes at as many words take 4 cycles; at one word, not combined, 31 times the repetition.
/// Cycles in which slices of L2 change the words of an atomic. Its additions are taken so many a cycle; those to one
/// word wait for each other, unless they were combined before.
fn changing_cycles(access: &MemoryAccess, atomics: AtomicSpec) -> u32 {
    let addresses = access.addresses().into_iter().enumerate();
    let taking_part = addresses.filter(|(lane, _)| access.mask >> lane & 1 == 1);
    let mut lanes: Vec<u64> = taking_part.map(|(_, address)| address).collect();
    lanes.sort_unstable();
    let words = lanes.chunk_by(|one, next| one == next);
    // Joined before they leave the SM, lanes at one word are one change, and no word waits for itself.
    let (changes, longest) = match access.combines {
        true => (words.count(), 1),
        false => (lanes.len(), words.map(<[u64]>::len).max().unwrap_or(1)),
    };
    let taken = changes.div_ceil(atomics.words_per_cycle.max(1) as usize);
    // Words are changed side by side, lanes at one word one after the other: what takes longer decides.
    taken.max((longest - 1) * atomics.repeat_cycles as usize) as u32
}

impl PendingAccess {
    /// The request for `segment`, the next of its segments.
    #[inline]
    pub(crate) fn request(&self, segment: u64, sm: u32, warp: u32) -> Request {
        let Self {
            kind,
            route,
            slot,
            lanes,
            stage,
            instruction,
            ..
        } = *self;
        Request {
            segment,
            sm,
            warp,
            kind,
            route,
            slot,
            lanes,
            sectors: self.sectors[self.next as usize],
            stage,
            instruction,
        }
    }
}

impl Default for Warp {
    fn default() -> Self {
        Self {
            phase: Phase::Ended,
            pending: 0,
            pending_count: [0; SLOTS],
            pending_unslotted: 0,
            ready: [Picos::ZERO; SLOTS],
            arrived: Picos::ZERO,
            behind: Picos::ZERO,
            access: PendingAccess::default(),
        }
    }
}

impl Warp {
    /// Asks for it ahead of its next move.
    #[inline]
    pub(crate) fn warm(&self) {
        warm(&self.phase);
        warm(self.access.segments.first());
        warm(&self.access.sectors[0]);
        warm(&self.ready[0]);
    }

    /// It has come to where it waits, in `phase`.
    #[inline]
    pub(crate) fn arrive(&mut self, at: Picos, phase: Phase) {
        self.arrived = at;
        self.phase = phase;
    }

    /// As [`Warp::arrive`], for something other than the load-store unit.
    #[inline]
    pub(crate) fn wait(&mut self, at: Picos, phase: Phase) {
        self.arrive(at, phase);
        self.behind = Picos::ZERO;
    }

    /// Data for `slot` is there at `at`.
    #[inline]
    pub(crate) fn note_ready(&mut self, slot: u8, at: Picos) {
        if let Some(ready) = self.ready.get_mut(slot as usize) {
            // Segments of one instruction share a slot: its result is there with the last of them.
            *ready = (*ready).max(at);
        }
    }

    /// One more request for `slot` waits.
    pub(crate) fn begin_pending(&mut self, slot: u8) {
        match self.pending_count.get_mut(slot as usize) {
            Some(count) => {
                *count += 1;
                self.pending |= 1 << slot;
            }
            None => self.pending_unslotted += 1,
        }
    }

    /// One request for `slot` waits no longer.
    pub(crate) fn end_pending(&mut self, slot: u8) {
        match self.pending_count.get_mut(slot as usize) {
            Some(count) => {
                *count -= 1;
                if *count == 0 {
                    self.pending &= !(1 << slot);
                }
            }
            None => self.pending_unslotted -= 1,
        }
    }

    /// When all of `slots` are there; `None` while one of them is pending.
    #[inline]
    pub(crate) fn ready_at(&self, slots: u64) -> Option<Picos> {
        if self.pending & slots != 0 {
            return None;
        }
        let mut left = slots;
        let mut at = Picos::ZERO;
        while left != 0 {
            at = at.max(self.ready[left.trailing_zeros() as usize]);
            left &= left - 1;
        }
        Some(at)
    }

    /// Which of `slots`, at least one, is there last.
    pub(crate) fn last_of(&self, slots: u64) -> u8 {
        let waited = (0..SLOTS as u8).filter(|slot| slots >> slot & 1 == 1);
        waited
            .max_by_key(|slot| self.ready[usize::from(*slot)])
            .unwrap_or(NO_SLOT)
    }

    /// Whether a request without a slot, a store or reduction, waits for a translation or a page.
    #[inline]
    pub(crate) fn store_pending(&self) -> bool {
        self.pending_unslotted > 0
    }

    /// Whether anything of this warp waits.
    pub(crate) fn anything_pending(&self) -> bool {
        self.pending != 0 || self.pending_unslotted > 0
    }
}

#[cfg(test)]
mod tests;
