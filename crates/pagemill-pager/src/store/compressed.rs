use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{NO_SLOT, Slot, Store, StoreError, Unit, Usage};
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

/// Cells of compressed bytes; an empty one is free.
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
        let bytes = compress(unit, buffer);
        if *slot != NO_SLOT {
            let mut shelf = self.shelf(*slot);
            let cell = &mut shelf.cells[index_of(*slot)];
            self.book(cell.len() as u64, bytes.len() as u64)?;
            *cell = bytes.into();
            return Ok(());
        }
        self.book(0, bytes.len() as u64)?;
        let number = self.next_shelf.fetch_add(1, Ordering::Relaxed) % SHELVES;
        let mut shelf = self.shelf(number);
        let index = match shelf.free.pop() {
            Some(index) => index,
            None => {
                shelf.cells.push(Box::default());
                shelf.cells.len() as u32 - 1
            }
        };
        shelf.cells[index as usize] = bytes.into();
        *slot = (u64::from(index) + 1) * SHELVES + number;
        self.units.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn index_of(slot: Slot) -> usize {
    (slot / SHELVES - 1) as usize
}

/// The unit's compressed bytes, or its own where they are fewer.
fn compress<'a>(unit: &'a Unit, buffer: &'a mut [u8]) -> &'a [u8] {
    match lz4_flex::block::compress_into(unit, buffer) {
        Ok(bytes) if bytes < UNIT_BYTES => &buffer[..bytes],
        _ => unit,
    }
}

impl Store for Compressed {
    fn name(&self) -> String {
        "compressed memory".to_owned()
    }

    fn put(&self, units: &[&Unit], slots: &mut [Slot]) -> Result<(), StoreError> {
        let mut buffer = vec![0; lz4_flex::block::get_maximum_output_size(UNIT_BYTES)];
        let pairs = units.iter().zip(slots);
        pairs
            .into_iter()
            .try_for_each(|(unit, slot)| self.put_one(unit, slot, &mut buffer))
    }

    fn get(&self, slots: &[Slot], units: &mut [u8]) -> Result<(), StoreError> {
        for (&slot, unit) in slots.iter().zip(units.chunks_exact_mut(UNIT_BYTES)) {
            let shelf = self.shelf(slot);
            let cell = &shelf.cells[index_of(slot)];
            if cell.len() == UNIT_BYTES {
                unit.copy_from_slice(cell);
            } else if lz4_flex::block::decompress_into(cell, unit).ok() != Some(UNIT_BYTES) {
                let store = self.name();
                return Err(StoreError::Damaged { store, slot });
            }
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
}
