//! What happened when, for a picture: bounded, and off unless asked for.

use pagemill_types::Picos;
use serde::{Deserialize, Serialize};

/// Kind of a span of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimelineKind {
    /// A kernel ran.
    Kernel {
        /// Its name.
        name: String,
    },
    /// The host copied to the GPU or brought pages back by writing.
    CopyToGpu,
    /// The host copied from the GPU or brought pages back by reading.
    CopyFromGpu,
    /// Bytes of a page moved from CPU to GPU.
    Migration {
        /// Page number in the address space.
        page: u64,
        /// Memory partition whose buffer held the entry.
        partition: u32,
    },
    /// A page was moved from GPU to CPU to make room.
    Eviction {
        /// Page number in the address space.
        page: u64,
    },
    /// The driver served a batch of faults and reports.
    FaultBatch,
    /// A request waited because a migration buffer was full.
    BufferFull {
        /// Memory partition whose buffer was full.
        partition: u32,
    },
}

/// A span of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineEvent {
    /// What happened.
    pub kind: TimelineKind,
    /// From.
    #[serde(with = "crate::gpu::serial")]
    pub start: Picos,
    /// To.
    #[serde(with = "crate::gpu::serial")]
    pub end: Picos,
    /// Bytes moved, if any.
    pub bytes: u64,
}

/// The events of a run, in the order they were decided, up to a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    limit: usize,
    events: Vec<TimelineEvent>,
    dropped: u64,
}

impl Timeline {
    /// A timeline that keeps the first `limit` events and counts the rest.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            events: Vec::new(),
            dropped: 0,
        }
    }

    /// The events.
    pub fn events(&self) -> &[TimelineEvent] {
        &self.events
    }

    /// How many events came after the limit was reached.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    #[inline]
    pub(crate) fn record(&mut self, make: impl FnOnce() -> TimelineEvent) {
        if self.events.len() < self.limit {
            self.events.push(make());
        } else if self.limit > 0 {
            self.dropped += 1;
        }
    }
}
