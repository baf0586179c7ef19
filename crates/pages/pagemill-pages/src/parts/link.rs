//! The full-duplex link between CPU and GPU.

use super::throughput::Throughput;
use pagemill_types::{Bandwidth, Picos};
use serde::{Deserialize, Serialize};

/// What a CPU-GPU link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// Bandwidth from CPU to GPU.
    pub to_gpu: Bandwidth,
    /// Bandwidth from GPU to CPU.
    pub to_cpu: Bandwidth,
    /// From the request of a transfer to its first byte on an idle wire.
    pub latency: Picos,
    /// Bytes of payload per packet; 0 when packets are not modeled.
    pub payload_bytes: u32,
    /// Bytes of header that each packet carries besides its payload.
    pub header_bytes: u32,
    /// How reads of single requests go over the link; `None` where they are transfers like others.
    pub reads: Option<ReadSpec>,
}

/// Reads of CPU memory by a GPU that waits for the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadSpec {
    /// From a read to its data, unloaded.
    pub latency: Picos,
    /// The most bytes that one packet brings.
    pub packet_bytes: u32,
    /// Reads that are outstanding at most.
    pub outstanding: u32,
}

impl LinkSpec {
    /// How many bytes are on the wire for `bytes` of payload.
    pub fn wire_bytes(&self, bytes: u64) -> u64 {
        if self.payload_bytes == 0 {
            return bytes;
        }
        bytes + bytes.div_ceil(u64::from(self.payload_bytes)) * u64::from(self.header_bytes)
    }
}

/// Which way a transfer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From CPU memory to GPU memory.
    ToGpu,
    /// From GPU memory to CPU memory.
    ToCpu,
}

/// When a transfer's bytes are on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// First byte leaves.
    pub start: Picos,
    /// Last byte has arrived.
    pub done: Picos,
}

/// Bytes and time of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Transfers made.
    pub transfers: u64,
    /// Payload bytes moved.
    pub bytes: u64,
    /// Time the wire was occupied.
    pub busy: Picos,
}

/// The link: each direction serves its transfers in the order they are asked for.
#[derive(Clone, Debug)]
pub struct Link {
    spec: LinkSpec,
    free_at: [Picos; 2],
    traffic: [Traffic; 2],
    /// As many reads as can be outstanding are answered in a latency.
    read_slots: Option<Throughput>,
}

/// Bytes that a read asks for at most.
const READ_BYTES: u32 = 128;

impl Link {
    /// An idle link.
    pub fn new(spec: LinkSpec) -> Self {
        Self {
            spec,
            free_at: [Picos::ZERO; 2],
            traffic: [Traffic::default(); 2],
            read_slots: spec.reads.map(read_slots),
        }
    }

    /// Rate from CPU to GPU.
    pub fn bytes_per_second(&self) -> u64 {
        self.spec.to_gpu.bytes_per_second()
    }

    /// Moves `bytes` in `direction`, asked for at `at`. Latencies of queued transfers overlap; their bytes do not.
    pub fn transfer(&mut self, at: Picos, direction: Direction, bytes: u64) -> Transfer {
        let bandwidth = match direction {
            Direction::ToGpu => self.spec.to_gpu,
            Direction::ToCpu => self.spec.to_cpu,
        };
        let busy = bandwidth.time_for(self.spec.wire_bytes(bytes));
        self.book(at + self.spec.latency, direction, bytes, busy)
    }

    /// As [`Link::transfer`], of bytes before which the wire stands idle for `setup`: the set-up of their copies.
    pub fn copy(&mut self, at: Picos, direction: Direction, bytes: u64, setup: Picos) -> Transfer {
        let ready = at + self.spec.latency;
        let free_at = &mut self.free_at[direction as usize];
        *free_at = ready.max(*free_at) + setup;
        self.transfer(at, direction, bytes)
    }

    fn book(&mut self, at: Picos, direction: Direction, bytes: u64, busy: Picos) -> Transfer {
        let start = at.max(self.free_at[direction as usize]);
        let done = start + busy;
        self.free_at[direction as usize] = done;
        let traffic = &mut self.traffic[direction as usize];
        traffic.transfers += 1;
        traffic.bytes += bytes;
        traffic.busy += busy;
        Transfer { start, done }
    }

    /// Whether it has reads of its own.
    pub fn reads_in_place(&self) -> bool {
        self.spec.reads.is_some()
    }

    /// `requests` reads, of at most 128 bytes each, bring `bytes` from CPU memory; returns when the last data are there.
    /// Where the link has no reads of its own, they are a transfer.
    #[inline]
    pub fn read(&mut self, at: Picos, requests: u64, bytes: u64) -> Picos {
        let (Some(reads), Some(slots)) = (self.spec.reads, &mut self.read_slots) else {
            return self.transfer(at, Direction::ToGpu, bytes).done;
        };
        let packets = requests * u64::from(READ_BYTES.div_ceil(reads.packet_bytes));
        let sent = slots.book(at, packets);
        // Of the answers: requests go the other way, where they are not booked.
        let wire_bytes = bytes + packets * u64::from(self.spec.header_bytes);
        let busy = self.spec.to_gpu.time_for(wire_bytes);
        self.book(sent, Direction::ToGpu, bytes, busy).done + reads.latency
    }

    /// What a transfer takes on an idle link.
    pub fn least_time(&self, direction: Direction, bytes: u64) -> Picos {
        let bandwidth = match direction {
            Direction::ToGpu => self.spec.to_gpu,
            Direction::ToCpu => self.spec.to_cpu,
        };
        self.spec.latency + bandwidth.time_for(self.spec.wire_bytes(bytes))
    }

    /// As [`Link::transfer`], of bytes that cannot start before `ready`. The wire is booked in the order of requests, as if
    /// they could: what waits for its bytes or its room holds up no transfer behind it.
    pub fn transfer_from(
        &mut self,
        at: Picos,
        ready: Picos,
        direction: Direction,
        bytes: u64,
    ) -> Transfer {
        let Transfer { start, done } = self.transfer(at, direction, bytes);
        let earliest = ready + self.spec.latency;
        Transfer {
            start: start.max(earliest),
            done: done.max(earliest + (done - start)),
        }
    }

    /// What was moved in `direction` so far.
    pub fn traffic(&self, direction: Direction) -> Traffic {
        self.traffic[direction as usize]
    }

    /// When the last transfer of either direction ends.
    pub fn free_at(&self) -> Picos {
        self.free_at[0].max(self.free_at[1])
    }
}

fn read_slots(reads: ReadSpec) -> Throughput {
    // Little's law: with so many outstanding for a latency each, so many a latency are answered.
    let latency_ps = u128::from(reads.latency.0.max(1));
    let per_second = u128::from(reads.outstanding) * 1_000_000_000_000 / latency_ps;
    Throughput::per_second(per_second.min(u128::from(u64::MAX)) as u64)
}

#[cfg(test)]
mod tests;
