use std::sync::OnceLock;
use std::time::Duration;

use pagemill_fabric::board::{Board, segment};
use pagemill_fabric::machine;
use pagemill_fabric::memory::{Buffer, Memory};
use pagemill_fabric::station::{Settings, Station, Ticket};
use pagemill_nic::NicMachine;
use pagemill_types::Invariants;

/// A rank's program memory: bytes at small addresses, and nothing else.
struct Small(Vec<u8>);

impl Memory for Small {
    fn load(&self, address: u64, bytes: usize, to: &mut Vec<u8>) {
        let end = to.len() + bytes;
        let at = usize::try_from(address).unwrap_or(usize::MAX);
        let there = self.0.get(at..).unwrap_or_default();
        to.extend(there.iter().take(bytes));
        to.resize(end, 0);
    }

    fn store(&mut self, address: u64, from: &[u8]) {
        let at = usize::try_from(address).unwrap_or(usize::MAX);
        if let Some(to) = self.0.get_mut(at..at.saturating_add(from.len())) {
            to.copy_from_slice(from);
        }
    }
}

static BOARD: OnceLock<Board> = OnceLock::new();

/// One board for all inputs: its memory is never given back.
fn shared() -> &'static Board {
    BOARD.get_or_init(|| {
        let board =
            segment::private(&machine::write(&NicMachine::pni()).expect("text")).expect("memory");
        board.join(Some(0), Some(2)).expect("a station");
        board.join(Some(1), Some(2)).expect("a station");
        board
    })
}

/// What another rank may leave in the ring: a damaged frame must neither panic nor hang the station that reads it.
pub fn board(bytes: &[u8]) {
    let board = shared();
    // What the input before left.
    for consumer in [board.consumer(1, 0), board.consumer(0, 1)] {
        while consumer.available() > 0 && consumer.pop(&mut [0]) {}
    }
    let words: Vec<u64> = bytes
        .chunks(8)
        .map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        })
        .take(4096)
        .collect();
    assert!(board.producer(1, 0).push(&words));
    let settings = Settings {
        table_map: None,
        patience: Duration::ZERO,
        has_start_line: false,
        events_max: 0,
    };
    let memory = Box::new(Small(vec![0; 4096]));
    let mut station =
        Station::new(*board, 0, &NicMachine::pni(), settings, memory).expect("a machine");
    station.receive(None, 0, u64::MAX, Buffer::new(0, 256), Ticket(1));
    station.register(1024, 1024);
    for _ in 0..8 {
        let _ = station.poll();
    }
    assert_eq!(station.broken_invariant(), None);
}
