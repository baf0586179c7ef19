use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use twox_hash::XxHash3_64;

use super::{NO_SLOT, Slot, Store, StoreError, Unit, Usage, bytes_of};
use crate::UNIT_BYTES;

/// Threads that put or get at the same time rarely meet in one of so many shelves.
const SHELVES: u64 = 16;

/// Units in this process's memory, compressed by LZ4 where that makes them smaller.
#[derive(Debug)]
pub struct Compressed {
    shelves: [Mutex<Shelf>; SHELVES as usize],
    limit_bytes: u64,
    used_bytes: AtomicU64,
    units: AtomicU64,
    next_shelf: AtomicU64,
}

/// Bytes of the hash that each cell starts with. It is of the compressed bytes, which are fewer than the unit's, and of the slot.
const HASH_BYTES: usize = 8;

/// Cells of a hash and compressed bytes; an empty one is free.
#[derive(Debug, Default)]
struct Shelf {
    cells: Vec<Box<[u8]>>,
    free: Vec<u32>,
}

impl Compressed {
    /// An empty store that takes up at most `limit_bytes`.
    pub fn new(limit_bytes: u64) -> Self {
        Self {
            shelves: Default::default(),
            limit_bytes,
            used_bytes: AtomicU64::new(0),
            units: AtomicU64::new(0),
            next_shelf: AtomicU64::new(0),
        }
    }

    fn shelf(&self, index: u64) -> MutexGuard<'_, Shelf> {
        let shelf = &self.shelves[(index % SHELVES) as usize];
        shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Books a change from `old` to `new` bytes, unless it would exceed the limit.
    fn book(&self, old: u64, new: u64) -> Result<(), StoreError> {
        let fits = |used: u64| {
            let used = used + new - old;
            (new <= old || used <= self.limit_bytes).then_some(used)
        };
        let booked = (self.used_bytes).fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        booked.map(drop).map_err(|used_bytes| StoreError::Full {
            store: self.name(),
            used_bytes,
        })
    }

    fn put_one(&self, unit: &Unit, slot: &mut Slot, buffer: &mut [u8]) -> Result<(), StoreError> {
        let bytes = HASH_BYTES + compress(unit, &mut buffer[HASH_BYTES..]);
        if *slot != NO_SLOT {
            let mut shelf = self.shelf(*slot);
            let cell = &mut shelf.cells[index_of(*slot)];
            self.book(cell.len() as u64, bytes as u64)?;
            set_hash(&mut buffer[..bytes], *slot);
            *cell = buffer[..bytes].into();
            return Ok(());
        }
        self.book(0, bytes as u64)?;
        let number = self.next_shelf.fetch_add(1, Ordering::Relaxed) % SHELVES;
        let mut shelf = self.shelf(number);
        let index = match shelf.free.pop() {
            Some(index) => index,
            None => {
                shelf.cells.push(Box::default());
                shelf.cells.len() as u32 - 1
            }
        };
        *slot = (u64::from(index) + 1) * SHELVES + number;
        set_hash(&mut buffer[..bytes], *slot);
        shelf.cells[index as usize] = buffer[..bytes].into();
        self.units.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn index_of(slot: Slot) -> usize {
    (slot / SHELVES - 1) as usize
}

/// Puts the unit's compressed bytes into `room`, or its own where they are fewer. Returns how many there are.
fn compress(unit: &Unit, room: &mut [u8]) -> usize {
    match lz4_flex::block::compress_into(unit, room) {
        Ok(bytes) if bytes < UNIT_BYTES => bytes,
        _ => {
            room[..UNIT_BYTES].copy_from_slice(unit);
            UNIT_BYTES
        }
    }
}

fn set_hash(cell: &mut [u8], slot: Slot) {
    let (head, bytes) = cell.split_at_mut(HASH_BYTES);
    head.copy_from_slice(&XxHash3_64::oneshot_with_seed(slot, bytes).to_ne_bytes());
}

/// Fills `unit` from what a cell keeps for `slot`, or returns `None` if that is not what was put there.
fn read_cell(cell: &[u8], slot: Slot, unit: &mut [u8]) -> Option<()> {
    let (head, bytes) = cell.split_at_checked(HASH_BYTES)?;
    if head != XxHash3_64::oneshot_with_seed(slot, bytes).to_ne_bytes() {
        return None;
    }
    if bytes.len() == UNIT_BYTES {
        unit.copy_from_slice(bytes);
        return Some(());
    }
    let done = lz4_flex::block::decompress_into(bytes, unit).ok()?;
    (done == UNIT_BYTES).then_some(())
}

impl Store for Compressed {
    fn name(&self) -> String {
        "compressed memory".to_owned()
    }

    fn put(&self, units: &[&Unit], slots: &mut [Slot]) -> Result<u64, StoreError> {
        let room = lz4_flex::block::get_maximum_output_size(UNIT_BYTES);
        let mut buffer = vec![0; HASH_BYTES + room];
        let pairs = units.iter().zip(slots);
        pairs
            .into_iter()
            .try_for_each(|(unit, slot)| self.put_one(unit, slot, &mut buffer))?;
        Ok(bytes_of(units))
    }

    fn get(&self, slots: &[Slot], units: &mut [u8]) -> Result<(), StoreError> {
        for (&slot, unit) in slots.iter().zip(units.chunks_exact_mut(UNIT_BYTES)) {
            let shelf = self.shelf(slot);
            let cell = &shelf.cells[index_of(slot)];
            read_cell(cell, slot, unit).ok_or_else(|| StoreError::Damaged {
                store: self.name(),
                slot,
            })?;
        }
        Ok(())
    }

    fn free(&self, slots: &[Slot]) {
        for &slot in slots {
            let mut shelf = self.shelf(slot);
            let index = index_of(slot);
            let cell = std::mem::take(&mut shelf.cells[index]);
            shelf.free.push(index as u32);
            self.used_bytes
                .fetch_sub(cell.len() as u64, Ordering::Relaxed);
            self.units.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn usage(&self) -> Usage {
        Usage {
            units: self.units.load(Ordering::Relaxed),
            bytes: self.used_bytes.load(Ordering::Relaxed),
        }
    }

    fn is_copied_by_fork(&self) -> bool {
        true
    }

    /// A copy saves compressing the unit again, where it leaves unchanged. It is worth a quarter of a frame, not more.
    fn is_better_empty(&self) -> bool {
        let usage = self.usage();
        usage.bytes * 4 > usage.units * UNIT_BYTES as u64
    }

    fn checks_itself(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_or_misplaced_cell_is_damage() {
        let store = Compressed::new(u64::MAX);
        let units = [[7; UNIT_BYTES], [9; UNIT_BYTES]];
        let mut slots = [NO_SLOT; 2];
        (store.put(&[&units[0], &units[1]], &mut slots)).expect("kept");
        let mut unit = [0; UNIT_BYTES];
        for &slot in &slots {
            let bytes = store.shelf(slot).cells[index_of(slot)].len();
            for byte in 0..bytes {
                store.shelf(slot).cells[index_of(slot)][byte] ^= 1;
                let error = store.get(&[slot], &mut unit).expect_err("damaged");
                assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
                store.shelf(slot).cells[index_of(slot)][byte] ^= 1;
            }
        }
        let other = store.shelf(slots[1]).cells[index_of(slots[1])].clone();
        store.shelf(slots[0]).cells[index_of(slots[0])] = other;
        store.get(&slots[..1], &mut unit).expect_err("misplaced");
        store.get(&slots[1..], &mut unit).expect("as it was");
        assert_eq!(unit, units[1]);
    }
}
