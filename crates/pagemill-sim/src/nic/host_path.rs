//! The way between an interface and memory, both directions.

use std::collections::VecDeque;

use pagemill_types::{Bandwidth, Picos};

use super::descriptor::Lane;
use super::machine::HostSpec;
use super::wire::Lanes;

/// Reads and writes of memory by an interface: each direction serves each lane in order, messages between segments of bulk
/// data; latencies overlap.
#[derive(Clone, Debug)]
pub(crate) struct HostPath {
    spec: HostSpec,
    from_memory: Lanes,
    to_memory: Lanes,
    /// Rate towards memory that reads at full speed leave.
    to_memory_beside_reads: Bandwidth,
    reads_since: Picos,
    message_window: Window,
    bulk_window: Window,
    /// Time of a whole segment from memory, and to it.
    segment_from: Picos,
    segment_to: Picos,
}

/// Reads of one lane that are under way.
#[derive(Clone, Debug, Default)]
struct Window {
    /// When each is done, and its bytes.
    reads: VecDeque<(Picos, u32)>,
    bytes: u64,
}

impl Window {
    /// When a read of `bytes` may be asked for: at `at`, or once enough of those under way are done.
    #[inline]
    fn admit(&mut self, at: Picos, bytes: u64, window_bytes: u32) -> Picos {
        let mut start = at;
        while let Some(&(done, read_bytes)) = self.reads.front() {
            let is_full = self.bytes + bytes > u64::from(window_bytes);
            if done > at && !is_full {
                break;
            }
            start = start.max(done);
            self.bytes -= u64::from(read_bytes);
            self.reads.pop_front();
        }
        start
    }

    #[inline]
    fn add(&mut self, done: Picos, bytes: u64) {
        self.reads.push_back((done, bytes as u32));
        self.bytes += bytes;
    }
}

impl HostPath {
    /// An idle path of an interface that handles `segment_bytes` as one.
    pub fn new(spec: &HostSpec, segment_bytes: u64) -> Self {
        Self {
            spec: *spec,
            from_memory: Lanes::default(),
            to_memory: Lanes::default(),
            to_memory_beside_reads: beside_reads(spec),
            reads_since: Picos::ZERO,
            message_window: Window::default(),
            bulk_window: Window::default(),
            segment_from: spec.from_memory.time_for(spec.read_bytes(segment_bytes)),
            segment_to: spec.to_memory.time_for(spec.write_bytes(segment_bytes)),
        }
    }

    #[inline]
    fn window(&mut self, lane: Lane) -> &mut Window {
        match lane {
            Lane::Message => &mut self.message_window,
            Lane::Bulk => &mut self.bulk_window,
        }
    }

    /// When a read of `bytes` may be asked for: at `at`, or once enough of its lane's reads are done.
    #[inline]
    pub fn admit(&mut self, at: Picos, bytes: u64, lane: Lane) -> Picos {
        let window_bytes = self.spec.read_window_bytes;
        self.window(lane).admit(at, bytes, window_bytes)
    }

    /// Reads `bytes`, asked for at `at`; returns when the request left and when the last byte is here.
    #[inline]
    pub fn read(&mut self, at: Picos, bytes: u64, lane: Lane) -> Read {
        let asked_at = self.admit(at, bytes, lane);
        let busy = self.spec.from_memory.time_for(self.spec.read_bytes(bytes));
        let idle_since = self.from_memory.free_at();
        let ready = asked_at + self.spec.read_latency;
        let start = self.from_memory.book(ready, lane, busy, self.segment_from);
        if start > idle_since {
            self.reads_since = asked_at;
        }
        let done = start + busy;
        self.window(lane).add(done, bytes);
        Read { asked_at, done }
    }

    /// A read that neither fills the window nor the bus worth mentioning: a descriptor, a group of the table.
    #[inline]
    pub fn read_small(&self, at: Picos, bytes: u64) -> Picos {
        at + self.spec.read_latency + self.spec.from_memory.time_for(self.spec.read_bytes(bytes))
    }

    /// Writes `bytes` from `at` on; returns when the last byte is on its way. It is visible [`HostSpec::write_latency`] later.
    #[inline]
    pub fn write(&mut self, at: Picos, bytes: u64, lane: Lane) -> Picos {
        let start = self.to_memory.start(at, lane, self.segment_to);
        let reads_now = self.reads_since <= start && start < self.from_memory.free_at();
        let rate = if reads_now {
            self.to_memory_beside_reads
        } else {
            self.spec.to_memory
        };
        let busy = rate.time_for(self.spec.write_bytes(bytes));
        self.to_memory.book(at, lane, busy, self.segment_to) + busy
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
