//! What units looked like when a server returned them, so that only their changed lines have to go back.

use std::sync::{Mutex, MutexGuard, PoisonError};

use twox_hash::XxHash3_64;

use super::protocol::LINE_BYTES;
use crate::UNIT_BYTES;
use crate::store::{NO_SLOT, Slot, Unit};

/// Lines of a unit.
const LINES: usize = UNIT_BYTES / LINE_BYTES;

/// Every line of a unit.
pub const ALL_LINES: u64 = u64::MAX;

/// Twins of units with the same low bits of their slot.
const WAYS: usize = 8;

/// Hashes in a word of a twin.
const HASHES: usize = 4;

/// A slot, then a hash of 16 bits for each line.
type Twin = [u64; 1 + LINES / HASHES];

/// The twins of as many units as may be in frames. They are hints: a twin may be forgotten at any time, and a line whose hash is the same by
/// chance is found out by the server, which has the hash of the whole unit.
#[derive(Debug)]
pub struct Twins {
    /// Sets of [`WAYS`], each with its newest first.
    twins: Mutex<Vec<[Twin; WAYS]>>,
}

impl Twins {
    /// Room for the twins of `units` units that are in frames, and of as many that have left unchanged since.
    pub fn new(units: u64) -> Self {
        let sets = (2 * units).div_ceil(WAYS as u64) as usize;
        Self {
            twins: Mutex::new(vec![[Twin::default(); WAYS]; sets]),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<[Twin; WAYS]>> {
        self.twins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that `unit` is kept under `slot`.
    pub fn note(&self, slot: Slot, unit: &Unit) {
        let twin = of(slot, unit);
        let mut twins = self.lock();
        let Some(set) = set_of(&mut twins, slot) else {
            return;
        };
        let place = set.iter().position(|known| known[0] == slot);
        let place = place.or_else(|| set.iter().position(|known| known[0] == NO_SLOT));
        set[..=place.unwrap_or(WAYS - 1)].rotate_right(1);
        set[0] = twin;
    }

    /// Lines of `unit` that are not what is kept under `slot`, as far as that is known. Forgets the twin.
    pub fn changed_lines(&self, slot: Slot, unit: &Unit) -> u64 {
        let mut twins = self.lock();
        let set = set_of(&mut twins, slot);
        let known = set.and_then(|set| set.iter_mut().find(|known| known[0] == slot));
        let Some(twin) = known.map(std::mem::take) else {
            return ALL_LINES;
        };
        drop(twins);
        let now = of(slot, unit);
        (0..LINES as u32)
            .filter(|line| hash_in(&twin, *line) != hash_in(&now, *line))
            .fold(0, |lines, line| lines | 1 << line)
    }
}

fn set_of(twins: &mut [[Twin; WAYS]], slot: Slot) -> Option<&mut [Twin; WAYS]> {
    let sets = twins.len() as u64;
    (slot != NO_SLOT && sets > 0).then(|| &mut twins[(slot % sets) as usize])
}

fn of(slot: Slot, unit: &Unit) -> Twin {
    let mut twin = Twin::default();
    twin[0] = slot;
    for (line, bytes) in unit.chunks_exact(LINE_BYTES).enumerate() {
        let hash = XxHash3_64::oneshot(bytes) & 0xffff;
        twin[1 + line / HASHES] |= hash << (line % HASHES * 16);
    }
    twin
}

fn hash_in(twin: &Twin, line: u32) -> u16 {
    let line = line as usize;
    (twin[1 + line / HASHES] >> (line % HASHES * 16)) as u16
}

#[cfg(test)]
mod tests;
