//! What a station counts, on the board, so that it can be read after the process has ended.

use std::sync::atomic::Ordering;

use crate::board::Board;

macro_rules! counters {
    ($($name:ident = $text:literal, $help:literal;)*) => {
        /// Something that is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Counter { $(#[doc = $help] $name,)* }

        impl Counter {
            /// All of them, in the order of the board.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its name in reports.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

counters! {
    SendCalls = "sends", "Messages that the program sent.";
    LateSteps = "late_steps", "Events that came to light after a later one had been processed.";
    ForcedSteps = "forced_steps", "Times that the order was given up because others made no progress.";
}

const _: () = assert!(Counter::ALL.len() <= crate::board::COUNTERS);

/// The counters of one station.
#[derive(Clone, Copy)]
pub struct Counters {
    board: Board,
    station: u32,
}

impl Counters {
    /// Those of `station`.
    pub fn new(board: Board, station: u32) -> Self {
        Self { board, station }
    }

    /// Adds to one.
    pub fn add(&self, counter: Counter, amount: u64) {
        let word = self.board.counter(self.station, counter as usize);
        word.fetch_add(amount, Ordering::Relaxed);
    }

    /// Sets one.
    pub fn set(&self, counter: Counter, value: u64) {
        let word = self.board.counter(self.station, counter as usize);
        word.store(value, Ordering::Relaxed);
    }
}
