//! A store that knows what it was asked to keep, and fails by chance.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::board::Board;
use super::plan::Defect;
use crate::UNIT_BYTES;
use crate::store::{NO_SLOT, Slot, Store, StoreError, Unit, Usage};

#[derive(Debug, Default)]
struct Kept {
    units: BTreeMap<Slot, Unit>,
    /// Slots that were freed: the last is the next to be used.
    free: Vec<Slot>,
    last: Slot,
    wrong: Option<String>,
}

#[derive(Debug)]
pub struct SimulatedStore {
    board: Arc<Board>,
    kept: Mutex<Kept>,
    pub is_faulty: AtomicBool,
    defect: Option<Defect>,
}

impl SimulatedStore {
    pub fn new(board: &Arc<Board>, defect: Option<Defect>) -> Self {
        Self {
            board: Arc::clone(board),
            kept: Mutex::default(),
            is_faulty: AtomicBool::new(true),
            defect,
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first thing that a server did wrong.
    pub fn wrong(&self) -> Option<String> {
        self.kept().wrong.clone()
    }

    fn fails(&self) -> bool {
        self.is_faulty.load(Ordering::Relaxed) && self.board.one_in(30)
    }

    fn full(&self) -> StoreError {
        StoreError::Full {
            store: self.name(),
            used_bytes: 0,
        }
    }
}

impl Kept {
    fn check(&mut self, slot: Slot) {
        if !self.units.contains_key(&slot) {
            let wrong = format!("slot {slot} is used, and not kept");
            self.wrong.get_or_insert(wrong);
        }
    }
}

impl Store for SimulatedStore {
    fn name(&self) -> String {
        "a simulated store".to_owned()
    }

    fn put(&self, units: &[&Unit], slots: &mut [Slot]) -> Result<u64, StoreError> {
        for (unit, slot) in units.iter().zip(slots) {
            if self.fails() {
                return Err(self.full());
            }
            let mut kept = self.kept();
            if *slot == NO_SLOT {
                kept.last += 1;
                let new = kept.last;
                *slot = kept.free.pop().unwrap_or(new);
            } else {
                kept.check(*slot);
            }
            kept.units.insert(*slot, **unit);
        }
        Ok((units.len() * UNIT_BYTES) as u64)
    }

    fn get(&self, slots: &[Slot], units: &mut [u8]) -> Result<(), StoreError> {
        if self.fails() {
            return Err(self.full());
        }
        let mut kept = self.kept();
        for (slot, unit) in slots.iter().zip(units.chunks_exact_mut(UNIT_BYTES)) {
            kept.check(*slot);
            unit.copy_from_slice(kept.units.get(slot).unwrap_or(&[0; UNIT_BYTES]));
        }
        Ok(())
    }

    fn free(&self, slots: &[Slot]) {
        let mut kept = self.kept();
        for slot in slots {
            kept.check(*slot);
            kept.free.push(*slot);
            if self.defect == Some(Defect::KeepsFreedSlots) {
                // It counts as kept still.
                continue;
            }
            kept.units.remove(slot);
        }
    }

    fn usage(&self) -> Usage {
        let units = self.kept().units.len() as u64;
        Usage {
            units,
            bytes: units * UNIT_BYTES as u64,
        }
    }
}
