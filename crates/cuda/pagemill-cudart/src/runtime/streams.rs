//! Streams and events: who waits for whom.

use std::collections::BTreeMap;

use pagemill_types::Picos;

use super::Runtime;
use crate::error::{CudaError, Fault};

/// A stream: 0 and 1 are the default stream of the process, 2 that of a thread, others were created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamId(pub u64);

impl StreamId {
    /// The default stream of the process, which others wait for.
    pub const LEGACY: Self = Self(0);
    const LEGACY_BY_NAME: Self = Self(1);
    const PER_THREAD: Self = Self(2);
    /// Where one node of a graph is done.
    const GRAPH_LANE: Self = Self(3);
    const FIRST_CREATED: u64 = 0x100;

    /// The same under its first name.
    pub(super) fn plain(self) -> Self {
        match self.is_legacy() {
            true => Self::LEGACY,
            false => self,
        }
    }

    /// Whether work in it can wait: what a graph does one after the other cannot.
    pub(super) fn may_wait(self) -> bool {
        self != Self::GRAPH_LANE
    }

    pub(super) fn is_legacy(self) -> bool {
        self == Self::LEGACY || self == Self::LEGACY_BY_NAME
    }
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    /// When everything in it is done.
    ready: Picos,
    /// Whether it waits for the default stream, and that for it.
    blocking: bool,
}

/// When the host and every stream are.
#[derive(Debug)]
pub(super) struct Clocks {
    host: Picos,
    legacy: Picos,
    streams: BTreeMap<StreamId, Stream>,
    /// When each event happened; `None` before it was recorded.
    events: BTreeMap<u64, Option<Picos>>,
    next: u64,
}

impl Default for Clocks {
    fn default() -> Self {
        let per_thread = Stream {
            ready: Picos::ZERO,
            blocking: true,
        };
        Self {
            host: Picos::ZERO,
            legacy: Picos::ZERO,
            streams: BTreeMap::from([(StreamId::PER_THREAD, per_thread)]),
            events: BTreeMap::new(),
            next: StreamId::FIRST_CREATED,
        }
    }
}

impl Clocks {
    fn stream(&self, id: StreamId) -> Result<Stream, Fault> {
        let known = self.streams.get(&id).copied();
        known.ok_or_else(|| {
            let message = format!("there is no stream {:#x}", id.0);
            Fault::new(CudaError::INVALID_RESOURCE_HANDLE, message)
        })
    }

    /// When everything that was put into `stream` is done.
    fn ready(&self, stream: StreamId) -> Result<Picos, Fault> {
        if !stream.is_legacy() {
            return Ok(self.stream(stream)?.ready);
        }
        let blocking = self.streams.values().filter(|stream| stream.blocking);
        Ok(blocking.fold(self.legacy, |latest, stream| latest.max(stream.ready)))
    }

    /// When something that the host puts into `stream` now can begin.
    pub(super) fn start(&self, stream: StreamId) -> Result<Picos, Fault> {
        let ready = self.ready(stream)?.max(self.host);
        let waits = stream.is_legacy() || self.stream(stream)?.blocking;
        Ok(if waits { ready.max(self.legacy) } else { ready })
    }

    /// Notes that what was put into `stream` is done at `end`.
    pub(super) fn end(&mut self, stream: StreamId, end: Picos) -> Result<(), Fault> {
        if stream.is_legacy() {
            self.legacy = self.legacy.max(end);
            return Ok(());
        }
        self.stream(stream)?;
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.ready = stream.ready.max(end);
        }
        Ok(())
    }

    /// A stream with nothing in it, from `ready` on.
    pub(super) fn lane(&mut self, ready: Picos) -> StreamId {
        let lane = Stream {
            ready,
            blocking: false,
        };
        self.streams.insert(StreamId::GRAPH_LANE, lane);
        StreamId::GRAPH_LANE
    }

    pub(super) fn host(&self) -> Picos {
        self.host
    }

    /// The host waits until `at`.
    pub(super) fn host_waits(&mut self, at: Picos) {
        self.host = self.host.max(at);
    }

    /// When everything everywhere is done.
    pub(super) fn end_of_all(&self) -> Picos {
        let streams = self.streams.values().map(|stream| stream.ready);
        streams.fold(self.host.max(self.legacy), Picos::max)
    }

    fn event(&self, event: u64) -> Result<Option<Picos>, Fault> {
        let known = self.events.get(&event).copied();
        known.ok_or_else(|| {
            let message = format!("there is no event {event:#x}");
            Fault::new(CudaError::INVALID_RESOURCE_HANDLE, message)
        })
    }
}

impl Runtime {
    /// Makes a stream; a non-blocking one does not wait for the default stream.
    pub fn create_stream(&mut self, blocking: bool) -> StreamId {
        let id = StreamId(self.clocks.next);
        self.clocks.next += 1;
        let ready = self.clocks.host;
        self.clocks.streams.insert(id, Stream { ready, blocking });
        id
    }

    /// Forgets a stream once everything in it is done.
    ///
    /// # Errors
    /// If there is no such stream, or it is a default stream.
    pub fn destroy_stream(&mut self, id: StreamId) -> Result<(), Fault> {
        let ready = self.clocks.stream(id)?.ready;
        if self.is_held(id) {
            // It goes with the process.
            return Ok(());
        }
        if id == StreamId::PER_THREAD {
            let message = "a default stream cannot be destroyed";
            return Err(Fault::new(CudaError::INVALID_RESOURCE_HANDLE, message));
        }
        // What it did still bounds the end of the run.
        self.clocks.legacy = self.clocks.legacy.max(ready);
        self.clocks.streams.remove(&id);
        Ok(())
    }

    /// The host waits for everything in `stream`.
    ///
    /// # Errors
    /// If there is no such stream.
    pub fn synchronize_stream(&mut self, stream: StreamId) -> Result<(), Fault> {
        self.not_while_capturing(stream, "waiting")?;
        let ready = self.clocks.ready(stream)?;
        self.clocks.host_waits(ready);
        Ok(())
    }

    /// The host waits for everything.
    pub fn synchronize(&mut self) {
        self.clocks.host_waits(self.clocks.end_of_all());
    }

    /// Whether the stream is non-blocking.
    ///
    /// # Errors
    /// If there is no such stream.
    pub fn is_non_blocking(&self, stream: StreamId) -> Result<bool, Fault> {
        Ok(!stream.is_legacy() && !self.clocks.stream(stream)?.blocking)
    }

    /// Whether there is such an event.
    ///
    /// # Errors
    /// If not.
    pub(super) fn check_event(&self, event: u64) -> Result<(), Fault> {
        self.clocks.event(event).map(|_| ())
    }

    /// Makes an event.
    pub fn create_event(&mut self) -> u64 {
        let id = self.clocks.next;
        self.clocks.next += 1;
        self.clocks.events.insert(id, None);
        id
    }

    /// Forgets an event.
    ///
    /// # Errors
    /// If there is no such event.
    pub fn destroy_event(&mut self, event: u64) -> Result<(), Fault> {
        self.clocks.event(event)?;
        if self.is_event_used(event) {
            // It goes with the process.
            return Ok(());
        }
        self.clocks.events.remove(&event);
        Ok(())
    }

    /// The event happens when everything in `stream` is done.
    ///
    /// # Errors
    /// If there is no such event or stream.
    pub fn record_event(&mut self, event: u64, stream: StreamId) -> Result<(), Fault> {
        self.clocks.event(event)?;
        if self.note_event(event, stream) {
            return Ok(());
        }
        if self.is_held(stream) {
            self.hold_record(stream, event);
            return Ok(());
        }
        let at = self.clocks.start(stream)?;
        self.clocks.events.insert(event, Some(at));
        Ok(())
    }

    /// The host waits for the event; one that was never recorded has happened.
    ///
    /// # Errors
    /// If there is no such event.
    pub fn synchronize_event(&mut self, event: u64) -> Result<(), Fault> {
        if let Some(at) = self.clocks.event(event)? {
            self.clocks.host_waits(at);
        }
        Ok(())
    }

    /// What is put into `stream` from now on waits for the event.
    ///
    /// # Errors
    /// If there is no such event or stream.
    pub fn wait_for_event(&mut self, stream: StreamId, event: u64) -> Result<(), Fault> {
        if self.join_capture(stream, event) {
            return Ok(());
        }
        if self.is_held(stream) || self.is_event_held(event) {
            self.hold_wait(stream, event);
            return Ok(());
        }
        match self.clocks.event(event)? {
            Some(at) => self.clocks.end(stream, at),
            None => self.clocks.ready(stream).map(|_| ()),
        }
    }

    /// Simulated time between two events.
    ///
    /// # Errors
    /// If one of them is unknown or was not recorded.
    pub fn elapsed_ms(&self, start: u64, end: u64) -> Result<f32, Fault> {
        let recorded = |event| {
            if self.is_event_held(event) {
                return Err(Fault::silent(CudaError::NOT_READY));
            }
            self.clocks.event(event)?.ok_or_else(|| {
                let message = format!("event {event:#x} was not recorded");
                Fault::new(CudaError::INVALID_RESOURCE_HANDLE, message)
            })
        };
        let (start, end): (Picos, Picos) = (recorded(start)?, recorded(end)?);
        Ok(((end.0 as f64 - start.0 as f64) * 1e-9) as f32)
    }
}
