use twox_hash::XxHash3_128;

use crate::store::{NO_SLOT, Slot, Unit};

/// A slot that a parent or a child of `fork` reads as well: it is neither written nor freed.
const FROZEN: Slot = 1 << 63;

/// No store's slot: the bytes are those of the file that the memory is of.
const IN_FILE: Slot = 1 << 62;

/// No store's slot: the bytes are in a frame alone.
const IN_FRAME: Slot = 1 << 61;

/// Where the bytes of a unit are kept that has no frame, and their hash. The bytes of a unit without a slot are zeros, or those of its file.
///
/// The hash of 128 bits says two things: whether a unit has changed since it was kept, and whether the store returned what it was given.
#[derive(Clone, Copy, Debug, Default)]
pub struct Record {
    slot: Slot,
    hash: [u64; 2],
}

impl Record {
    /// Where the bytes are kept, if anywhere.
    pub fn slot(&self) -> Option<Slot> {
        let is_slot = |slot: &Slot| ![NO_SLOT, IN_FILE, IN_FRAME].contains(slot);
        Some(self.slot & !FROZEN).filter(is_slot)
    }

    /// Whether nothing is known of the unit.
    pub fn is_empty(&self) -> bool {
        self.slot == NO_SLOT
    }

    /// The slot that new bytes may be put into.
    pub fn own_slot(&self) -> Slot {
        if self.slot & (FROZEN | IN_FILE | IN_FRAME) == 0 {
            self.slot
        } else {
            NO_SLOT
        }
    }

    /// The bytes are kept under `slot` now.
    pub fn keep(&mut self, slot: Slot, hash: [u64; 2]) {
        *self = Self { slot, hash };
    }

    /// The bytes, which have not changed, are in a frame alone from now on; returns the slot that nothing needs any more, if it may be freed.
    pub fn leave_slot(&mut self) -> Option<Slot> {
        let slot = Some(self.own_slot()).filter(|slot| *slot != NO_SLOT)?;
        self.slot = IN_FRAME;
        Some(slot)
    }

    /// Whether the bytes that it knows by their hash are in no store and no file.
    pub fn is_in_frame(&self) -> bool {
        self.slot == IN_FRAME
    }

    /// The bytes of the unit's file have this hash.
    pub fn keep_in_file(&mut self, hash: [u64; 2]) {
        self.keep(IN_FILE, hash);
    }

    pub fn freeze(&mut self) {
        if self.slot().is_some() {
            self.slot |= FROZEN;
        }
    }

    /// Whether these are the bytes that are kept, given their hash.
    pub fn keeps(&self, hash: [u64; 2]) -> bool {
        self.slot != NO_SLOT && self.hash == hash
    }
}

/// The hash of a unit. No two units of one program ever have the same, by all that chance can do: 2^40 evictions meet an equal pair
/// with probability 2^-88.
pub fn hash(unit: &Unit, seed: u64) -> [u64; 2] {
    let hash = XxHash3_128::oneshot_with_seed(seed, unit);
    [hash as u64, (hash >> 64) as u64]
}

pub fn is_zero(unit: &Unit) -> bool {
    unit.chunks_exact(64)
        .all(|line| line.iter().fold(0, |all, byte| all | byte) == 0)
}
