use std::sync::Arc;
use std::time::{Duration, Instant};

use super::data::DataKind;
use super::{Batch, MANY};
use crate::UNIT_BYTES;
use crate::remote::{
    Address, Remote, RemoteError, Server, ServerConfig, ServerError, Token, TokenError,
};
use crate::store::{Compressed, NO_SLOT, Slot, Store, StoreError, Unit};

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

/// The calls are measured in parts, all of them in turns.
const PARTS: usize = 8;
const TURNS: usize = 3;

/// Why there is no page server to measure.
#[derive(Debug, thiserror::Error)]
pub enum LoopbackError {
    /// There is no secret for it.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// It does not start.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// It cannot be reached.
    #[error(transparent)]
    Client(#[from] RemoteError),
}

/// The client of a page server in this process, over loopback, whose units are in compressed memory. The server ends with the process.
///
/// # Errors
/// There is no such server.
pub fn loopback() -> Result<Remote, LoopbackError> {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let word = || RandomState::new().build_hasher().finish();
    let token = Token::new(&format!("{:x}{:x}{:x}", word(), word(), word()))?;
    let config = ServerConfig {
        address: Address::Tcp("127.0.0.1:0".to_owned()),
        tenants: vec![("probe".to_owned(), token.clone(), u64::MAX)],
        grace: Duration::from_secs(1),
    };
    let server = Server::start(config, Arc::new(Compressed::new(u64::MAX)))?;
    let client = Remote::connect(server.address(), "probe", &token)?;
    std::mem::forget(server);
    Ok(client)
}

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
        let calls = (UNITS / batch).min(512) / PARTS;
        let piece = calls * batch;
        let mut of = |act: &mut dyn FnMut(usize) -> Result<(), StoreError>| {
            let mut each = |part| {
                let start = Instant::now();
                if let Err(error) = act(part % PARTS * piece) {
                    failed = Some(error);
                }
                start.elapsed().as_nanos() as f64 / calls as f64
            };
            median((0..TURNS * PARTS).map(&mut each).collect())
        };
        let put_ns = of(&mut |at| {
            put(
                store,
                &units[at..at + piece],
                &mut slots[at..at + piece],
                batch,
            )
        });
        let get_ns = of(&mut |at| get(store, &slots[at..at + piece], batch));
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

/// The middle of some measurements: on a loaded computer some of them contain what other programs do, with a device in between none is
/// the truth.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
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
        .try_for_each(|(units, slots)| store.put(units, slots).map(drop))
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
