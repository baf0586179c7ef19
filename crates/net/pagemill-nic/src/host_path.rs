//! The way between an interface and memory, both directions.

use std::collections::VecDeque;

use pagemill_types::{Bandwidth, Picos};

use super::descriptor::Lane;
use super::machine::HostSpec;
use super::moment::{Cause, Moment};
use super::wire::Lanes;

/// Reads and writes of memory by an interface: each direction serves each lane in order, messages between segments of bulk
/// data; latencies overlap.
#[derive(Clone, Debug)]
pub(crate) struct HostPath {
    spec: HostSpec,
    /// The same way as far as the data of transfers, which may lie in the memory of a GPU.
    data: HostSpec,
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
    /// An idle path of an interface that handles `segment_bytes` as one, `data` to the data of transfers.
    pub fn new(spec: &HostSpec, data: &HostSpec, segment_bytes: u64) -> Self {
        Self {
            spec: *spec,
            data: *data,
            from_memory: Lanes::default(),
            to_memory: Lanes::default(),
            to_memory_beside_reads: beside_reads(data),
            reads_since: Picos::ZERO,
            message_window: Window::default(),
            bulk_window: Window::default(),
            segment_from: data.from_memory.time_for(data.read_bytes(segment_bytes)),
            segment_to: data.to_memory.time_for(data.write_bytes(segment_bytes)),
        }
    }

    #[inline]
    fn window(&mut self, lane: Lane) -> &mut Window {
        match lane {
            Lane::Message => &mut self.message_window,
            Lane::Bulk => &mut self.bulk_window,
        }
    }

    /// When a read of `bytes` may be asked for: at `at`, or once enough of its lane's reads are done. `own` is the end of the
    /// last read of the same transfer.
    #[inline]
    pub fn admit<M: Moment>(&mut self, at: M, bytes: u64, lane: Lane, own: Option<M>) -> M {
        let window_bytes = self.data.read_window_bytes;
        let admitted = self.window(lane).admit(at.at(), bytes, window_bytes);
        let cause = match own {
            Some(_) => Cause::Interface,
            None => Cause::Busy,
        };
        at.until(admitted, cause)
    }

    /// Reads `bytes`, asked for at `at`; returns when the request left and when the last byte is here. `own` is the end of the
    /// last read of the same transfer.
    #[inline]
    pub fn read<M: Moment>(&mut self, at: M, bytes: u64, lane: Lane, own: Option<M>) -> Read<M> {
        let asked_at = self.admit(at, bytes, lane, own);
        let busy = self.data.from_memory.time_for(self.data.read_bytes(bytes));
        let idle_since = self.from_memory.free_at();
        let ready = asked_at.after(self.data.read_latency, Cause::Interface);
        let start = (self.from_memory).book(ready.at(), lane, busy, self.segment_from);
        if start > idle_since {
            self.reads_since = asked_at.at();
        }
        let done = ready.taken(start, own).after(busy, Cause::Interface);
        self.window(lane).add(done.at(), bytes);
        Read { asked_at, done }
    }

    /// A read that neither fills the window nor the bus worth mentioning: a descriptor, a group of the table.
    #[inline]
    pub fn read_small(&self, at: Picos, bytes: u64) -> Picos {
        at + self.spec.read_latency + self.spec.from_memory.time_for(self.spec.read_bytes(bytes))
    }

    /// Writes `bytes` from `at` on; returns when the last byte is on its way. It is visible [`HostSpec::write_latency`] later.
    /// `own` is the end of the last write of the same transfer.
    #[inline]
    pub fn write<M: Moment>(&mut self, at: M, bytes: u64, lane: Lane, own: Option<M>) -> M {
        let start = self.to_memory.start(at.at(), lane, self.segment_to);
        let reads_now = self.reads_since <= start && start < self.from_memory.free_at();
        let rate = if reads_now {
            self.to_memory_beside_reads
        } else {
            self.data.to_memory
        };
        let busy = rate.time_for(self.data.write_bytes(bytes));
        self.to_memory.book(at.at(), lane, busy, self.segment_to);
        at.taken(start, own).after(busy, Cause::Interface)
    }
}

/// When a read was asked for and when it is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read<M> {
    pub asked_at: M,
    pub done: M,
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
