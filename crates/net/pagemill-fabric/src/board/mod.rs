//! The memory that all processes of one job share: a table of stations, a ring for each pair, one lock.
//!
//! All of it is a row of 64-bit atomics, so what another process does to it is never a data race, and everything
//! above [`segment`] is safe code that also runs in one process, on ordinary memory.

mod bells;
mod layout;
mod lock;
mod news;
mod ring;
pub mod segment;
mod stations;

pub use layout::{COUNTERS, STATIONS_MAX};
pub use news::{Seen, asleep_ns};
pub use ring::{Consumer, Producer};
pub use segment::{JOB_VARIABLE, SegmentError};
pub use stations::{Bases, JoinError, NEVER, StationView};

use std::sync::atomic::{AtomicU64, Ordering};

use pagemill_nic::NodeSpec;
use pagemill_types::Picos;

use bells::Bells;
use layout::{Layout, MAGIC};
use lock::Guard;

/// One job's shared memory, as this process sees it.
#[derive(Clone, Copy)]
pub struct Board {
    words: &'static [AtomicU64],
    /// What wakes processes; `None` where a futex does.
    bells: Option<&'static Bells>,
}

impl Board {
    /// Takes fresh memory, all zero, and writes the head and the machine's description into it.
    ///
    /// # Errors
    /// If the description does not fit, or the memory is too small.
    pub fn create(words: &'static [AtomicU64], machine: &str) -> Result<Self, SegmentError> {
        let board = Self { words, bells: None };
        if words.len() < Layout::WORDS {
            return Err(SegmentError::TooSmall { words: words.len() });
        }
        if machine.len() > Layout::MACHINE_BYTES {
            return Err(SegmentError::MachineTooLong {
                bytes: machine.len(),
            });
        }
        for (word, bytes) in words[Layout::MACHINE..]
            .iter()
            .zip(machine.as_bytes().chunks(8))
        {
            word.store(ring::word_of(bytes), Ordering::Relaxed);
        }
        words[Layout::MACHINE_LEN].store(machine.len() as u64, Ordering::Relaxed);
        words[Layout::MAGIC].store(MAGIC, Ordering::Release);
        Ok(board)
    }

    /// Takes memory that another process has filled in.
    ///
    /// # Errors
    /// If it was not made by [`Board::create`] of this version.
    pub fn open(words: &'static [AtomicU64]) -> Result<Self, SegmentError> {
        if words.len() < Layout::WORDS {
            return Err(SegmentError::TooSmall { words: words.len() });
        }
        match words[Layout::MAGIC].load(Ordering::Acquire) {
            MAGIC => Ok(Self { words, bells: None }),
            found => Err(SegmentError::OtherVersion { found }),
        }
    }

    /// 64-bit words that a board takes.
    pub const WORDS: usize = Layout::WORDS;

    /// The machine's description, as it was given to [`Board::create`].
    pub fn machine(&self) -> String {
        let bytes = self.words[Layout::MACHINE_LEN].load(Ordering::Relaxed) as usize;
        let bytes = bytes.min(Layout::MACHINE_BYTES);
        let mut text = Vec::with_capacity(bytes.next_multiple_of(8));
        for word in &self.words[Layout::MACHINE..Layout::MACHINE + bytes.div_ceil(8)] {
            text.extend_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        text.truncate(bytes);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Says which stations share an interface.
    pub fn set_node(&self, node: NodeSpec) {
        self.words[Layout::NODE_RANKS].store(u64::from(node.ranks), Ordering::Relaxed);
        self.words[Layout::NODE_LATENCY].store(node.latency.0, Ordering::Release);
    }

    /// Which stations share an interface.
    pub fn node(&self) -> NodeSpec {
        let ranks = self.words[Layout::NODE_RANKS].load(Ordering::Relaxed);
        NodeSpec {
            ranks: u32::try_from(ranks).unwrap_or(1).max(1),
            latency: Picos(self.words[Layout::NODE_LATENCY].load(Ordering::Relaxed)),
        }
    }

    /// The writing end of the ring from station `source` to `dest`.
    pub fn producer(&self, source: u32, dest: u32) -> Producer {
        Producer::new(self.ring(source, dest))
    }

    /// The reading end of the ring from station `source` to `dest`.
    pub fn consumer(&self, source: u32, dest: u32) -> Consumer {
        Consumer::new(self.ring(source, dest))
    }

    /// Waits for the board's lock.
    pub fn lock(&self) -> Guard {
        Guard::take(&self.words[Layout::LOCK])
    }

    fn ring(&self, source: u32, dest: u32) -> &'static [AtomicU64] {
        let start = Layout::ring(source, dest);
        &self.words[start..start + Layout::RING_WORDS]
    }
}
