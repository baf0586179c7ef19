//! Streams and events: who waits for whom.

use std::collections::BTreeMap;

use pagemill_types::Picos;

use super::Runtime;
use super::held::Held;
use super::moments::{Knows, Mark, Moment};
use super::work::Work;
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

impl std::fmt::Display for StreamId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            _ if self.is_legacy() => write!(f, "the default stream"),
            Self::PER_THREAD => write!(f, "the default stream of a thread"),
            Self::GRAPH_LANE => write!(f, "a graph"),
            Self(id) => write!(f, "stream {id:#x}"),
        }
    }
}

#[derive(Clone, Debug)]
struct Stream {
    /// When everything in it is done.
    ready: Moment,
    /// Whether it waits for the default stream, and that for it.
    blocking: bool,
    /// Its line of work.
    line: u64,
}

/// When the host and every stream are, and what waits there.
#[derive(Debug)]
pub struct Streams {
    host: Moment,
    legacy: Moment,
    /// What streams did that are gone.
    gone: Knows,
    streams: BTreeMap<StreamId, Stream>,
    /// When each event happened; `None` before it was recorded.
    events: BTreeMap<u64, Option<Moment>>,
    next: u64,
    /// Deeds so far, and lanes.
    deeds: u64,
    lanes: u64,
    /// Launches that wait, and what is behind them.
    pub(super) held: Held,
}

impl Default for Streams {
    fn default() -> Self {
        let per_thread = Stream {
            ready: Moment::default(),
            blocking: true,
            line: StreamId::PER_THREAD.0,
        };
        Self {
            host: Moment::default(),
            legacy: Moment::default(),
            gone: Knows::default(),
            streams: BTreeMap::from([(StreamId::PER_THREAD, per_thread)]),
            events: BTreeMap::new(),
            next: StreamId::FIRST_CREATED,
            deeds: 0,
            lanes: 0,
            held: Held::default(),
        }
    }
}

impl Streams {
    fn stream(&self, id: StreamId) -> Result<&Stream, Fault> {
        let known = self.streams.get(&id);
        known.ok_or_else(|| no_stream(id))
    }

    /// When everything that was put into `stream` is done.
    pub(super) fn ready(&self, stream: StreamId) -> Result<Moment, Fault> {
        if !stream.is_legacy() {
            return Ok(self.stream(stream)?.ready.clone());
        }
        let blocking = self.streams.values().filter(|stream| stream.blocking);
        Ok(blocking.fold(self.legacy.clone(), |latest, stream| {
            latest.join(&stream.ready)
        }))
    }

    /// When something that the host puts into `stream` now can begin.
    pub(crate) fn start(&self, stream: StreamId) -> Result<Moment, Fault> {
        let ready = self.ready(stream)?.join(&self.host);
        let waits = stream.is_legacy() || self.stream(stream)?.blocking;
        Ok(if waits {
            ready.join(&self.legacy)
        } else {
            ready
        })
    }

    /// The next deed of `stream`, which everything behind it knows of, and what it knows itself.
    pub(super) fn deed(&mut self, stream: StreamId) -> Result<(Mark, Knows), Fault> {
        let start = self.start(stream)?;
        self.deeds += 1;
        let mut mark = Mark {
            line: StreamId::LEGACY.0,
            number: self.deeds,
        };
        let own = match self.streams.get_mut(&stream) {
            Some(own) => {
                mark.line = own.line;
                &mut own.ready.knows
            }
            None => &mut self.legacy.knows,
        };
        own.clone_from(&start.knows);
        own.add(mark);
        Ok((mark, start.knows))
    }

    /// What the host knows of.
    pub(super) fn host_knows(&self) -> &Knows {
        &self.host.knows
    }

    /// The host knows of everything, and so does whatever it asks for from now on.
    pub(super) fn forget_deeds(&mut self) {
        self.host.knows.forget();
        self.legacy.knows.forget();
        self.gone.forget();
        let streams = self.streams.values_mut();
        streams.for_each(|stream| stream.ready.knows.forget());
        let events = self.events.values_mut().flatten();
        events.for_each(|event| event.knows.forget());
    }

    /// Notes that what was put into `stream` is done at `end`.
    pub(super) fn end(&mut self, stream: StreamId, end: Picos) -> Result<(), Fault> {
        let ready = self.ready_mut(stream)?;
        ready.at = ready.at.max(end);
        Ok(())
    }

    fn ready_mut(&mut self, stream: StreamId) -> Result<&mut Moment, Fault> {
        if stream.is_legacy() {
            return Ok(&mut self.legacy);
        }
        let known = self.streams.get_mut(&stream);
        known.map_or_else(|| Err(no_stream(stream)), |own| Ok(&mut own.ready))
    }

    /// What is put into `stream` from now on waits for `moment`.
    pub(crate) fn wait_for(&mut self, stream: StreamId, moment: &Moment) -> Result<(), Fault> {
        self.ready_mut(stream)?.wait_for(moment);
        Ok(())
    }

    /// A stream with nothing in it, from `ready` on.
    pub(super) fn lane(&mut self, ready: Moment) -> StreamId {
        self.lanes += 1;
        let lane = Stream {
            ready,
            blocking: false,
            line: u64::MAX - self.lanes,
        };
        self.streams.insert(StreamId::GRAPH_LANE, lane);
        StreamId::GRAPH_LANE
    }

    pub(super) fn host(&self) -> Picos {
        self.host.at
    }

    /// The host waits until `at`.
    pub(super) fn host_waits(&mut self, at: Picos) {
        self.host.at = self.host.at.max(at);
    }

    /// The host waits for all that `moment` is behind.
    fn host_waits_for(&mut self, moment: &Moment) {
        self.host.wait_for(moment);
    }

    /// Behind everything everywhere.
    fn all(&self) -> Moment {
        let gone = Moment {
            at: Picos::ZERO,
            knows: self.gone.clone(),
        };
        let streams = self.streams.values().map(|stream| &stream.ready);
        streams.fold(
            self.host.clone().join(&self.legacy).join(&gone),
            Moment::join,
        )
    }

    /// When everything everywhere is done.
    pub(super) fn end_of_all(&self) -> Picos {
        let streams = self.streams.values().map(|stream| stream.ready.at);
        streams.fold(self.host.at.max(self.legacy.at), Picos::max)
    }

    pub(super) fn event(&self, event: u64) -> Result<Option<&Moment>, Fault> {
        let known = self.events.get(&event).map(Option::as_ref);
        known.ok_or_else(|| {
            let message = format!("there is no event {event:#x}");
            Fault::new(CudaError::INVALID_RESOURCE_HANDLE, message)
        })
    }

    /// Makes a stream; a non-blocking one does not wait for the default stream.
    pub fn create_stream(&mut self, blocking: bool) -> StreamId {
        let id = StreamId(self.next);
        self.next += 1;
        let stream = Stream {
            ready: Moment::at(self.host.at),
            blocking,
            line: id.0,
        };
        self.streams.insert(id, stream);
        id
    }

    /// Forgets a stream once everything in it is done.
    ///
    /// # Errors
    /// If there is no such stream, or it is a default stream.
    pub fn destroy_stream(&mut self, id: StreamId) -> Result<(), Fault> {
        let ready = self.stream(id)?.ready.clone();
        if self.is_held(id) {
            // It goes with the process.
            return Ok(());
        }
        if id == StreamId::PER_THREAD {
            let message = "a default stream cannot be destroyed";
            return Err(Fault::new(CudaError::INVALID_RESOURCE_HANDLE, message));
        }
        // What it did still bounds the end of the run.
        self.legacy.at = self.legacy.at.max(ready.at);
        self.gone.learn(&ready.knows);
        self.streams.remove(&id);
        Ok(())
    }

    /// Whether the stream is non-blocking.
    ///
    /// # Errors
    /// If there is no such stream.
    pub fn is_non_blocking(&self, stream: StreamId) -> Result<bool, Fault> {
        Ok(!stream.is_legacy() && !self.stream(stream)?.blocking)
    }

    /// Makes an event.
    pub fn create_event(&mut self) -> u64 {
        let id = self.next;
        self.next += 1;
        self.events.insert(id, None);
        id
    }

    /// Forgets an event.
    ///
    /// # Errors
    /// If there is no such event.
    pub fn destroy_event(&mut self, event: u64) -> Result<(), Fault> {
        self.event(event)?;
        if self.is_event_used(event) {
            // It goes with the process.
            return Ok(());
        }
        self.events.remove(&event);
        Ok(())
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
            let moment = self.event(event)?.ok_or_else(|| {
                let message = format!("event {event:#x} was not recorded");
                Fault::new(CudaError::INVALID_RESOURCE_HANDLE, message)
            });
            Ok(moment?.at)
        };
        let (start, end): (Picos, Picos) = (recorded(start)?, recorded(end)?);
        Ok(((end.0 as f64 - start.0 as f64) * 1e-9) as f32)
    }
}

impl Runtime {
    /// The host waits for everything in `stream`.
    ///
    /// # Errors
    /// If there is no such stream.
    pub fn synchronize_stream(&mut self, stream: StreamId) -> Result<(), Fault> {
        self.graphs.not_while_capturing(stream, "waiting")?;
        let ready = self.streams.ready(stream)?;
        self.streams.host_waits_for(&ready);
        self.host_has_waited();
        Ok(())
    }

    /// The host waits for everything.
    pub fn synchronize(&mut self) {
        let all = self.streams.all();
        self.streams.host_waits_for(&all);
        self.host_has_waited();
    }

    /// The host knows of all that `moment` is behind, though it has not waited for it.
    pub(super) fn host_learns(&mut self, moment: &Moment) {
        self.streams.host.knows.learn(&moment.knows);
        self.host_has_waited();
    }

    /// The event happens when everything in `stream` is done.
    ///
    /// # Errors
    /// If there is no such event or stream.
    pub fn record_event(&mut self, event: u64, stream: StreamId) -> Result<(), Fault> {
        self.streams.event(event)?;
        if self.graphs.note_event(event, stream) {
            return Ok(());
        }
        if self.streams.is_held(stream) {
            self.streams.hold_mark(stream, Work::Record(event));
            return Ok(());
        }
        let at = self.streams.start(stream)?;
        self.streams.events.insert(event, Some(at));
        Ok(())
    }

    /// The host waits for the event; one that was never recorded has happened.
    ///
    /// # Errors
    /// If there is no such event.
    pub fn synchronize_event(&mut self, event: u64) -> Result<(), Fault> {
        if let Some(moment) = self.streams.event(event)?.cloned() {
            self.streams.host_waits_for(&moment);
            self.host_has_waited();
        }
        Ok(())
    }

    /// What is put into `stream` from now on waits for the event.
    ///
    /// # Errors
    /// If there is no such event or stream.
    pub fn wait_for_event(&mut self, stream: StreamId, event: u64) -> Result<(), Fault> {
        if self.graphs.join_capture(stream, event) {
            return Ok(());
        }
        if self.streams.is_held(stream) || self.streams.is_event_held(event) {
            self.streams.hold_mark(stream, Work::Wait(event));
            return Ok(());
        }
        match self.streams.event(event)?.cloned() {
            Some(moment) => self.streams.wait_for(stream, &moment),
            None => self.streams.ready(stream).map(|_| ()),
        }
    }
}

fn no_stream(id: StreamId) -> Fault {
    let message = format!("there is no stream {:#x}", id.0);
    Fault::new(CudaError::INVALID_RESOURCE_HANDLE, message)
}
