//! GPU memory and the link, and what each read books of them.

use pagemill_types::Picos;

use super::machine::UvmMachine;
use super::piece::{Piece, SECTOR_BYTES};
use crate::Timeline;
use crate::managers::host_link::HostLink;
use crate::parts::throughput::Throughput;

/// Everything that bytes travel through.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    memory_latency: Picos,
    memory: Throughput,
    pub host_link: HostLink,
    pub local_bytes: u64,
    pub remote_bytes: u64,
}

impl Paths {
    /// Nothing is busy; the first `events_max` events are kept.
    pub(super) fn new(machine: &UvmMachine, events_max: usize) -> Self {
        Self {
            memory_latency: machine.memory.latency,
            memory: Throughput::of_bytes(machine.memory.bandwidth),
            host_link: HostLink::new(machine.link, Timeline::with_limit(events_max)),
            local_bytes: 0,
            remote_bytes: 0,
        }
    }

    /// Reads `piece` from GPU memory, translated `delay` after `at`.
    #[inline]
    pub(super) fn read_local(&mut self, at: Picos, delay: Picos, piece: Piece) -> Picos {
        let bytes = u64::from(piece.sectors) * SECTOR_BYTES;
        self.local_bytes += bytes;
        self.memory.book(at, bytes) + self.memory_latency + delay
    }

    /// Reads `piece` from CPU memory over the link, translated `delay` after `at`.
    #[inline]
    pub(super) fn read_remote(&mut self, at: Picos, delay: Picos, piece: Piece) -> Picos {
        let bytes = u64::from(piece.sectors) * SECTOR_BYTES;
        self.remote_bytes += bytes;
        self.host_link.link.read(at, piece.requests.into(), bytes) + delay
    }

    /// How long memory was busy.
    pub(super) fn memory_busy(&self) -> Picos {
        self.memory.busy()
    }
}
