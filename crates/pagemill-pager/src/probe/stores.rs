use std::time::Instant;

use super::data::DataKind;
use super::{Batch, MANY, least};
use crate::UNIT_BYTES;
use crate::store::{NO_SLOT, Slot, Store, StoreError, Unit};

/// What a store costs, in nanoseconds of elapsed time.
#[derive(Clone, Copy, Debug)]
pub struct StoreCosts {
    /// Writing units.
    pub put: Batch,
    /// Reading units.
    pub get: Batch,
    /// Bytes that a unit takes up in it, in the mean.
    pub unit_bytes: f64,
}

/// Units that are kept for it: 16 MiB.
const UNITS: usize = 4096;

/// Writes units of `data` into `store` and reads them.
///
/// # Errors
/// The store fails.
pub fn store_costs(store: &dyn Store, data: DataKind) -> Result<StoreCosts, StoreError> {
    let mut memory = AlignedUnits::new(UNITS);
    let (units, _) = memory.bytes().as_chunks_mut::<UNIT_BYTES>();
    for (index, unit) in (0..).zip(units.iter_mut()) {
        *unit = *data.unit(index);
    }
    let units: Vec<&Unit> = units.iter().collect();
    let mut slots = vec![NO_SLOT; UNITS];
    // The first time, the store gets its memory from the kernel.
    put(store, &units, &mut slots, MANY)?;
    let unit_bytes = store.usage().bytes as f64 / store.usage().units.max(1) as f64;
    let mut failed = None;
    let mut times = |batch: usize| {
        let calls = (UNITS / batch).min(512);
        let (units, slots) = (&units[..calls * batch], &mut slots[..calls * batch]);
        let mut of = |act: &mut dyn FnMut() -> Result<(), StoreError>| {
            least(3, || {
                let start = Instant::now();
                if let Err(error) = act() {
                    failed = Some(error);
                }
                start.elapsed().as_nanos() as f64 / calls as f64
            })
        };
        let put_ns = of(&mut || put(store, units, slots, batch));
        let get_ns = of(&mut || get(store, slots, batch));
        (put_ns, get_ns)
    };
    let (one, many) = (times(1), times(MANY));
    store.free(&slots);
    match failed {
        Some(error) => Err(error),
        None => Ok(StoreCosts {
            put: Batch::of(one.0, many.0),
            get: Batch::of(one.1, many.1),
            unit_bytes,
        }),
    }
}

fn put(
    store: &dyn Store,
    units: &[&Unit],
    slots: &mut [Slot],
    batch: usize,
) -> Result<(), StoreError> {
    let pairs = units.chunks(batch).zip(slots.chunks_mut(batch));
    pairs
        .into_iter()
        .try_for_each(|(units, slots)| store.put(units, slots))
}

/// In an order that no cache foresees.
fn get(store: &dyn Store, slots: &[Slot], batch: usize) -> Result<(), StoreError> {
    let calls = slots.len() / batch;
    let mut memory = AlignedUnits::new(batch);
    for call in 0..calls {
        let at = (call * 769) % calls * batch;
        store.get(&slots[at..at + batch], memory.bytes())?;
    }
    Ok(())
}

/// Units aligned as frames are: direct input and output wants it.
struct AlignedUnits {
    room: Vec<u8>,
    units: usize,
}

impl AlignedUnits {
    fn new(units: usize) -> Self {
        let room = vec![0; (units + 1) * UNIT_BYTES];
        Self { room, units }
    }

    fn bytes(&mut self) -> &mut [u8] {
        let start = self.room.as_ptr().align_offset(UNIT_BYTES);
        &mut self.room[start..start + self.units * UNIT_BYTES]
    }
}
