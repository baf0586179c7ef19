//! GPU memory and the link, and what each read or copy books of them.

use pagemill_types::Picos;

use super::machine::{UvmLink, UvmMachine};
use super::piece::{Piece, SECTOR_BYTES};
use crate::gpu::Timeline;
use crate::parts::throughput::Throughput;

/// Everything that bytes travel through.
#[derive(Clone, Debug)]
pub(super) struct Wires {
    link: UvmLink,
    memory_latency: Picos,
    memory: Throughput,
    to_gpu: Throughput,
    to_cpu: Throughput,
    /// As many reads as can be outstanding are answered in a latency.
    read_slots: Throughput,
    pub local_bytes: u64,
    pub remote_bytes: u64,
    /// What was copied when, by those who know what it was.
    pub timeline: Timeline,
}

impl Wires {
    /// Nothing is busy; the first `events_max` events are kept.
    pub(super) fn new(machine: &UvmMachine, events_max: usize) -> Self {
        let link = machine.link;
        let latency_ps = u128::from(link.read_latency.0.max(1));
        let reads_per_second = u128::from(link.outstanding_reads) * 1_000_000_000_000 / latency_ps;
        Self {
            link,
            memory_latency: machine.memory.latency,
            memory: Throughput::of_bytes(machine.memory.bandwidth),
            to_gpu: Throughput::of_bytes(link.to_gpu),
            to_cpu: Throughput::of_bytes(link.to_cpu),
            read_slots: Throughput::per_second(reads_per_second as u64),
            local_bytes: 0,
            remote_bytes: 0,
            timeline: Timeline::with_limit(events_max),
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
        let packets = u64::from(piece.requests) * u64::from(128_u32.div_ceil(self.link.read_bytes));
        self.remote_bytes += bytes;
        let sent = self.read_slots.book(at, packets);
        let wire_bytes = bytes + packets * u64::from(self.link.header_bytes);
        self.to_gpu.book(sent, wire_bytes) + self.link.read_latency + delay
    }

    /// Copies `bytes` to GPU memory; returns when they are there.
    pub(super) fn copy_to_gpu(&mut self, at: Picos, bytes: u64) -> Picos {
        let wire_bytes = self.copy_wire_bytes(bytes);
        self.to_gpu.book(at + self.link.copy_latency, wire_bytes)
    }

    /// Copies `bytes` to CPU memory; returns when they are there.
    pub(super) fn copy_to_cpu(&mut self, at: Picos, bytes: u64) -> Picos {
        let wire_bytes = self.copy_wire_bytes(bytes);
        self.to_cpu.book(at + self.link.copy_latency, wire_bytes)
    }

    /// What a copy to GPU memory takes on an idle link.
    pub(super) fn least_copy_time(&self, bytes: u64) -> Picos {
        self.link.copy_latency + self.link.to_gpu.time_for(self.copy_wire_bytes(bytes))
    }

    fn copy_wire_bytes(&self, bytes: u64) -> u64 {
        bytes + bytes.div_ceil(u64::from(self.link.copy_bytes)) * u64::from(self.link.header_bytes)
    }

    /// How long memory, the link to the GPU, and the link to the CPU were busy.
    pub(super) fn busy(&self) -> [Picos; 3] {
        [self.memory.busy(), self.to_gpu.busy(), self.to_cpu.busy()]
    }
}
