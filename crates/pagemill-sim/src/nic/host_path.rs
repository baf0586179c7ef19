//! The way between an interface and memory, both directions.

use std::collections::VecDeque;

use pagemill_types::{Bandwidth, Picos};

use super::machine::HostSpec;
use crate::parts::ports::Port;

/// Reads and writes of memory by an interface: each direction serves its data in order, latencies overlap.
#[derive(Clone, Debug)]
pub(crate) struct HostPath {
    spec: HostSpec,
    from_memory: Port,
    to_memory: Port,
    /// Rate towards memory that reads at full speed leave.
    to_memory_beside_reads: Bandwidth,
    reads_since: Picos,
    /// Outstanding reads: when each is done, and its bytes.
    in_flight: VecDeque<(Picos, u32)>,
    in_flight_bytes: u64,
}

impl HostPath {
    pub fn new(spec: &HostSpec) -> Self {
        Self {
            spec: *spec,
            from_memory: Port::default(),
            to_memory: Port::default(),
            to_memory_beside_reads: beside_reads(spec),
            reads_since: Picos::ZERO,
            in_flight: VecDeque::new(),
            in_flight_bytes: 0,
        }
    }

    /// When a read of `bytes` may be asked for: at `at`, or once enough of those under way are done.
    #[inline]
    pub fn admit(&mut self, at: Picos, bytes: u64) -> Picos {
        let mut start = at;
        while let Some(&(done, read_bytes)) = self.in_flight.front() {
            let is_full = self.in_flight_bytes + bytes > u64::from(self.spec.read_window_bytes);
            if done > at && !is_full {
                break;
            }
            start = start.max(done);
            self.in_flight_bytes -= u64::from(read_bytes);
            self.in_flight.pop_front();
        }
        start
    }

    /// Reads `bytes`, asked for at `at`; returns when the request left and when the last byte is here.
    #[inline]
    pub fn read(&mut self, at: Picos, bytes: u64) -> Read {
        let asked_at = self.admit(at, bytes);
        let busy = self.spec.from_memory.time_for(self.spec.read_bytes(bytes));
        let idle_since = self.from_memory.free_at();
        let start = self
            .from_memory
            .book(asked_at + self.spec.read_latency, busy);
        if start > idle_since {
            self.reads_since = asked_at;
        }
        let done = start + busy;
        self.in_flight.push_back((done, bytes as u32));
        self.in_flight_bytes += bytes;
        Read { asked_at, done }
    }

    /// A read that neither fills the window nor the bus worth mentioning: a descriptor, a group of the table.
    #[inline]
    pub fn read_small(&self, at: Picos, bytes: u64) -> Picos {
        at + self.spec.read_latency + self.spec.from_memory.time_for(self.spec.read_bytes(bytes))
    }

    /// Writes `bytes` from `at` on; returns when the last byte is on its way. It is visible [`HostSpec::write_latency`] later.
    #[inline]
    pub fn write(&mut self, at: Picos, bytes: u64) -> Picos {
        let start = at.max(self.to_memory.free_at());
        let reads_now = self.reads_since <= start && start < self.from_memory.free_at();
        let rate = if reads_now {
            self.to_memory_beside_reads
        } else {
            self.spec.to_memory
        };
        let busy = rate.time_for(self.spec.write_bytes(bytes));
        self.to_memory.book(at, busy) + busy
    }
}

/// When a read was asked for and when it is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub asked_at: Picos,
    pub done: Picos,
}

/// The rate towards memory that the requests of reads at full speed leave.
fn beside_reads(spec: &HostSpec) -> Bandwidth {
    let (to, from) = (
        u128::from(spec.to_memory.bytes_per_second()),
        u128::from(spec.from_memory.bytes_per_second()),
    );
    let request = u64::from(spec.read_request_bytes);
    let asked =
        from * u128::from(spec.request_bytes(request)) / u128::from(spec.read_bytes(request));
    let left = to.saturating_sub(asked).max(to / 10);
    Bandwidth::new(left as u64).unwrap_or(spec.to_memory)
}
