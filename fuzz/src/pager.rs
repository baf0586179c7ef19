//! The protocol of the page server, against a map of slots.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use pagemill_pager::UNIT_BYTES;
use pagemill_pager::remote::converse;
use pagemill_pager::store::{Compressed, Store};

const QUOTA_UNITS: u64 = 6;

const PUT: u8 = 1;
const GET: u8 = 2;
const FREE: u8 = 3;
const CHANGE: u8 = 4;
const METRICS: u8 = 5;

/// Requests of a client: as they are if the first byte is odd, and otherwise four bytes for each of them.
pub fn pager(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    let store: Arc<dyn Store> = Arc::new(Compressed::new(64 << 20));
    let kept = if first % 2 == 1 {
        converse(rest, &store, QUOTA_UNITS * UNIT_BYTES as u64).1
    } else {
        meaningful(rest, &store)
    };
    assert_eq!(kept, 0, "a tenant pays for what its ended session kept");
    assert_eq!(store.usage().units, 0, "units stay behind");
}

/// What a request must be answered with.
enum Expected {
    Put {
        is_full: bool,
        used: u64,
    },
    /// The fill of each unit, if all are kept.
    Get(Option<Vec<u8>>),
    Freed,
    /// Of each unit: it is kept, but the hash is wrong, or not.
    Change(Vec<bool>),
    Metrics,
}

fn meaningful(bytes: &[u8], store: &Arc<dyn Store>) -> u64 {
    let (mut wire, mut expected) = (Vec::new(), Vec::new());
    let mut model: BTreeMap<u64, u8> = BTreeMap::new();
    for &[op, count, slot, fill] in bytes.as_chunks::<4>().0.iter().take(48) {
        // Neighbors, and the same ones more than once.
        let count = count % 5;
        let slots: Vec<u64> = (0..count)
            .map(|number| u64::from(slot.wrapping_add(number.wrapping_mul(fill))) % 8)
            .collect();
        let op = op % 5 + 1;
        wire.extend([op, if op == METRICS { 0 } else { count }]);
        if op != CHANGE && op != METRICS {
            slots
                .iter()
                .for_each(|slot| wire.extend(slot.to_le_bytes()));
        }
        expected.push(match op {
            PUT => {
                let fills = (0..count).map(|number| fill.wrapping_add(number));
                fills
                    .clone()
                    .for_each(|fill| wire.resize(wire.len() + UNIT_BYTES, fill));
                let mut after = model.clone();
                after.extend(slots.iter().copied().zip(fills));
                let is_full = after.len() as u64 > QUOTA_UNITS;
                if !is_full {
                    model = after;
                }
                let used = (model.len() * UNIT_BYTES) as u64;
                Expected::Put { is_full, used }
            }
            GET => Expected::Get(slots.iter().map(|slot| model.get(slot).copied()).collect()),
            FREE => {
                model.retain(|slot, _| !slots.contains(slot));
                Expected::Freed
            }
            CHANGE => {
                for slot in &slots {
                    // One line, and the hash of nothing.
                    wire.extend([slot.to_le_bytes(), 1_u64.to_le_bytes()].concat());
                    wire.resize(wire.len() + 16 + 64, fill);
                }
                Expected::Change(slots.iter().map(|slot| model.contains_key(slot)).collect())
            }
            _ => Expected::Metrics,
        });
    }
    let (answers, kept) = converse(&wire, store, QUOTA_UNITS * UNIT_BYTES as u64);
    let mut answers = &answers[..];
    for one in expected {
        check(&mut answers, one);
    }
    assert!(answers.is_empty(), "answers to nothing");
    kept
}

fn check(answers: &mut &[u8], expected: Expected) {
    let mut take = |bytes: usize| {
        let mut taken = vec![0; bytes];
        answers.read_exact(&mut taken).expect("an answer");
        taken
    };
    match expected {
        Expected::Put { is_full, used } => {
            assert_eq!(take(1), [u8::from(is_full)]);
            assert_eq!(take(8), used.to_le_bytes());
        }
        Expected::Get(Some(fills)) => {
            assert_eq!(take(1), [0]);
            for fill in fills {
                assert!(take(UNIT_BYTES).iter().all(|byte| *byte == fill));
            }
        }
        Expected::Get(None) => assert_eq!(take(1), [2]),
        Expected::Freed => assert_eq!(take(1), [0]),
        Expected::Change(units) => {
            for is_kept in units {
                assert_eq!(take(1), [if is_kept { 3 } else { 2 }]);
            }
        }
        Expected::Metrics => {
            let bytes = u32::from_le_bytes(take(4).try_into().expect("four"));
            assert!(take(bytes as usize).starts_with(b"# HELP "));
        }
    }
}
