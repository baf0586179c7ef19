//! This process' endpoints and completion queues over its one station. Safe code: libfabric's view of a [`Station`].

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, DerefMut, Range};

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::compute::{Compute, Gap};
use crate::memory::Buffer;
use crate::meter::{self, Meter};
use crate::records::Files;
use crate::station::{Done, Kind, Outcome, RemoteKey, Station, Status, Ticket, Wait};

/// The top bits of a tag say which endpoint is meant, and whether the message is tagged at all.
const PORT_SHIFT: u32 = 61;
const UNTAGGED: u64 = 1 << 60;
/// The tag bits that programs may use.
pub const USER_TAG: u64 = UNTAGGED - 1;
/// Endpoints that one process can have.
pub const PORTS_MAX: u32 = 8;

/// Which completion queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueId(u64);

/// What the program reads from a completion queue.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The program's pointer.
    pub context: usize,
    /// What was asked for.
    pub kind: Kind,
    /// Whether it was a tagged message.
    pub is_tagged: bool,
    /// How it ended.
    pub outcome: Outcome,
    /// Where the data is.
    pub address: u64,
    /// Whether this is the answer to a look for a message, and there was none.
    pub is_no_message: bool,
}

/// Whom a completion is for.
#[derive(Clone, Copy, Debug)]
pub struct Notify {
    /// The queue; `None` if the program wants to hear of errors only, or of nothing.
    pub queue: Option<QueueId>,
    /// Whether success is reported, too.
    pub of_success: bool,
    /// The program's pointer.
    pub context: usize,
}

struct Posted {
    notify: Notify,
    is_tagged: bool,
    address: u64,
    /// The bytes of a send whose buffer the program may use again at once.
    _kept: Option<Vec<u8>>,
}

/// A message that the program has claimed and not fetched.
struct Claim {
    /// The program's pointer.
    context: usize,
    port: u32,
    bytes: Vec<u8>,
    outcome: Option<Outcome>,
    fetch: Option<Fetch>,
}

/// How the program fetches a claimed message.
pub struct Fetch {
    /// Where the message goes.
    pub buffer: Buffer,
    /// Takes the message instead of the buffer, where the MPI library would leave it there.
    pub unpack: Option<Unpack>,
    /// Whom the completion is for.
    pub notify: Notify,
}

/// Takes the bytes of a message that fit into its buffer.
pub type Unpack = Box<dyn FnOnce(&[u8]) + Send>;

/// A message's matching space and tag, or a receive's.
#[derive(Clone, Copy, Debug)]
pub struct Match {
    /// The endpoint of the receiver.
    pub port: u32,
    /// The tag, for tagged messages.
    pub tag: Option<u64>,
    /// Bits of it that do not matter.
    pub ignore: u64,
}

impl Match {
    fn word(self) -> u64 {
        let tag = self.tag.map_or(UNTAGGED, |tag| tag & USER_TAG);
        (u64::from(self.port) << PORT_SHIFT) | tag
    }

    fn ignored(self) -> u64 {
        self.ignore & USER_TAG
    }
}

/// Tag bits by which an MPI library marks synchronous messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncTags {
    /// The sender waits for an acknowledgment.
    pub message: u64,
    /// The acknowledgment has the message's tag with this bit instead.
    pub acknowledgment: u64,
}

/// This process' part of the job.
pub struct Process {
    /// Its station.
    pub station: Station,
    compute: Compute,
    files: Files,
    queues: BTreeMap<QueueId, VecDeque<Entry>>,
    posted: BTreeMap<u64, Posted>,
    /// Receives under way, by the program's pointer.
    receives: BTreeMap<usize, u64>,
    claims: BTreeMap<u64, Claim>,
    /// Which claimed messages are acknowledged here, because the MPI library does not.
    sync_tags: Option<SyncTags>,
    next: u64,
    ports: u32,
    /// Whether something was put into a queue since the last call.
    has_news: bool,
    /// Polls that the program was allowed to make without this.
    idle_polls: u32,
}

impl Process {
    /// Over a station; what is recorded goes to `files` at the end.
    pub fn new(station: Station, compute: Compute, files: Files) -> Self {
        if compute.is_exact() {
            meter::measure_all();
        }
        Self {
            station,
            compute,
            files,
            queues: BTreeMap::new(),
            posted: BTreeMap::new(),
            receives: BTreeMap::new(),
            claims: BTreeMap::new(),
            sync_tags: None,
            next: 0,
            ports: 0,
            has_news: false,
            idle_polls: 0,
        }
    }

    /// The program calls, and did this since its last call.
    fn enter(&mut self, gap: Gap) {
        let left = IDLE_POLLS.swap(0, Ordering::Relaxed);
        self.station.count_idle_polls(self.idle_polls - left);
        self.idle_polls = 0;
        if self.station.is_started() {
            let span_ps = self.compute.charge(gap);
            self.station.compute(span_ps);
        }
    }

    /// Crosses the start line; what is computed counts from here.
    pub fn start(&mut self) {
        self.station.start();
        self.compute.start();
    }

    /// The program reads its clock, in picoseconds.
    pub fn read_clock(&mut self) -> u64 {
        self.compute.act();
        self.station.read_clock()
    }

    /// Ends this process' part: what is on its way is sent, and what was recorded is written down.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn leave(&mut self) -> std::io::Result<()> {
        self.station.publish_compute(&self.compute);
        self.station.leave();
        self.files.write(&mut self.station, &self.compute)
    }

    /// Takes the lowest endpoint number that is free.
    pub fn open_port(&mut self) -> Option<u32> {
        let free = (0..PORTS_MAX).find(|port| self.ports & (1 << port) == 0)?;
        self.ports |= 1 << free;
        self.station.set_ports(self.ports);
        Some(free)
    }

    /// Gives an endpoint number back; returns whether it was the last one.
    pub fn close_port(&mut self, port: u32) -> bool {
        self.ports &= !(1 << port);
        self.station.set_ports(self.ports);
        self.ports == 0
    }

    /// A new, empty queue.
    pub fn open_queue(&mut self) -> QueueId {
        self.next += 1;
        self.queues.insert(QueueId(self.next), VecDeque::new());
        QueueId(self.next)
    }

    /// Forgets a queue.
    pub fn close_queue(&mut self, queue: QueueId) {
        self.queues.remove(&queue);
    }

    /// Sends a message.
    pub fn send(
        &mut self,
        dest: u32,
        to: Match,
        data: Option<u64>,
        buffer: &Buffer,
        notify: Notify,
    ) {
        if !self.station.has_port(dest, to.port) {
            return self.refuse(Kind::Send, to.tag.is_some(), buffer.address(), notify);
        }
        let ticket = self.post(notify, to.tag.is_some(), buffer.address());
        self.station.send(dest, to.word(), data, buffer, ticket);
    }

    /// Sends a message whose buffer the program may use again at once.
    pub fn inject(
        &mut self,
        dest: u32,
        to: Match,
        data: Option<u64>,
        buffer: &Buffer,
        notify: Notify,
    ) {
        let mut kept = self.station.copy_in(buffer);
        let address = kept.as_mut_ptr().expose_provenance() as u64;
        let copy = Buffer::new(address, kept.len());
        self.send(dest, to, data, &copy, notify);
        if let Some(posted) = self.posted.get_mut(&self.next) {
            posted._kept = Some(kept);
        }
    }

    /// Receives a message.
    pub fn receive(&mut self, source: Option<u32>, from: Match, buffer: Buffer, notify: Notify) {
        let ticket = self.post(notify, from.tag.is_some(), buffer.address());
        self.receives.insert(notify.context, ticket.0);
        self.station
            .receive(source, from.word(), from.ignored(), buffer, ticket);
    }

    /// Reads or writes memory of another process.
    pub fn access(
        &mut self,
        kind: Kind,
        (dest, port): (u32, u32),
        offset: u64,
        key: RemoteKey,
        buffer: Buffer,
        notify: Notify,
    ) {
        if !self.station.has_port(dest, port) {
            return self.refuse(kind, false, buffer.address(), notify);
        }
        let ticket = self.post(notify, false, buffer.address());
        match kind {
            Kind::Read => self.station.read(dest, offset, key, buffer, ticket),
            _ => self.station.write(dest, offset, key, buffer, ticket),
        }
    }

    /// Looks for a message, and takes it out of the reach of others if `claims`; the queue gets the answer.
    pub fn peek(&mut self, source: Option<u32>, from: Match, claims: bool, notify: Notify) {
        // A program that only looks for messages gets its other completions here.
        while let Some(done) = self.station.take_ready() {
            self.route(&done);
        }
        let found = self.station.peek(source, from.word(), from.ignored());
        if found.is_some() {
            self.compute.act();
        }
        if let (Some(outcome), true) = (found, claims) {
            self.claim(&outcome, notify.context, from.port);
        }
        let entry = Entry {
            context: notify.context,
            kind: Kind::Receive,
            is_tagged: from.tag.is_some(),
            outcome: found.unwrap_or(Outcome::of_nothing()),
            address: 0,
            is_no_message: found.is_none(),
        };
        self.push(notify.queue, entry);
    }

    /// Fetches the message that was claimed under the context; `false` if there is none.
    pub fn fetch(&mut self, fetch: Fetch) -> bool {
        let mut claims = self.claims.iter_mut();
        let found = claims.find(|(_, claim)| claim.context == fetch.notify.context);
        let Some((&ticket, claim)) = found else {
            return false;
        };
        claim.fetch = Some(fetch);
        self.hand_over(ticket);
        true
    }

    /// From now on, fetching a claimed message with the first tag bit sends an empty one back, with the second bit instead.
    pub fn acknowledge_claims(&mut self, tags: SyncTags) {
        self.sync_tags = Some(tags);
    }

    /// Whether a receive under way has its context there.
    pub fn has_receive(&self, contexts: Range<usize>) -> bool {
        self.receives.range(contexts).next().is_some()
    }

    /// Takes back the receive of a context.
    pub fn cancel(&mut self, context: usize) -> bool {
        self.compute.act();
        let ticket = self.receives.get(&context).copied();
        ticket.is_some_and(|ticket| self.station.cancel(Ticket(ticket)))
    }

    /// The next entry of a queue, if the time for one has come.
    pub fn read(&mut self, queue: QueueId) -> Option<Entry> {
        if self.queues.get(&queue)?.is_empty() {
            self.progress();
        }
        self.queues.get_mut(&queue)?.pop_front()
    }

    /// The entry that [`Process::read`] would return, without asking the network.
    pub fn front(&self, queue: QueueId) -> Option<&Entry> {
        self.queues.get(&queue)?.front()
    }

    /// Asks the network what is new.
    pub fn progress(&mut self) {
        while let Some(done) = self.station.poll() {
            self.route(&done);
        }
    }

    /// Lets the program make polls that would find nothing without a call.
    fn allow_idle_polls(&mut self) {
        if !meter::is_exact() && self.queues.values().all(VecDeque::is_empty) {
            self.idle_polls = self.station.idle_polls_ahead();
            IDLE_POLLS.store(self.idle_polls, Ordering::Relaxed);
        }
    }

    /// How other threads hear of it, if this call brought something.
    fn take_news(&mut self) -> Option<Wait> {
        let news = self.station.wait_for_any();
        std::mem::take(&mut self.has_news).then_some(news)
    }

    fn post(&mut self, notify: Notify, is_tagged: bool, address: u64) -> Ticket {
        self.compute.act();
        self.next += 1;
        let posted = Posted {
            notify,
            is_tagged,
            address,
            _kept: None,
        };
        self.posted.insert(self.next, posted);
        Ticket(self.next)
    }

    /// Ends an operation to an endpoint that is not there.
    fn refuse(&mut self, kind: Kind, is_tagged: bool, address: u64, notify: Notify) {
        self.compute.act();
        let outcome = Outcome {
            status: Status::ForeignPort,
            ..Outcome::of_nothing()
        };
        let entry = Entry {
            context: notify.context,
            kind,
            is_tagged,
            outcome,
            address,
            is_no_message: false,
        };
        self.push(notify.queue, entry);
    }

    fn route(&mut self, done: &Done) {
        self.compute.act();
        if let Some(claim) = self.claims.get_mut(&done.ticket.0) {
            claim.outcome = Some(done.outcome);
            return self.hand_over(done.ticket.0);
        }
        let Some(posted) = self.posted.remove(&done.ticket.0) else {
            return;
        };
        let context = posted.notify.context;
        if self.receives.get(&context) == Some(&done.ticket.0) {
            self.receives.remove(&context);
        }
        if posted.notify.of_success || done.outcome.status != Status::Success {
            let entry = Entry {
                context: posted.notify.context,
                kind: done.kind,
                is_tagged: posted.is_tagged,
                outcome: done.outcome,
                address: posted.address,
                is_no_message: false,
            };
            self.push(posted.notify.queue, entry);
        }
    }

    fn push(&mut self, queue: Option<QueueId>, mut entry: Entry) {
        entry.outcome.tag &= USER_TAG;
        if let Some(queue) = queue.and_then(|queue| self.queues.get_mut(&queue)) {
            queue.push_back(entry);
            self.has_news = true;
        }
    }

    /// Receives the message that was just seen into memory of our own.
    fn claim(&mut self, seen: &Outcome, context: usize, port: u32) {
        self.next += 1;
        let mut bytes = vec![0; seen.bytes as usize];
        let address = bytes.as_mut_ptr().expose_provenance() as u64;
        let buffer = Buffer::new(address, bytes.len());
        let claim = Claim {
            context,
            port,
            bytes,
            outcome: None,
            fetch: None,
        };
        self.claims.insert(self.next, claim);
        self.station
            .receive(Some(seen.source), seen.tag, 0, buffer, Ticket(self.next));
    }

    /// Finishes a claim once the message is here and the program has fetched it.
    fn hand_over(&mut self, ticket: u64) {
        let is_whole = |claim: &Claim| claim.outcome.is_some() && claim.fetch.is_some();
        if !self.claims.get(&ticket).is_some_and(is_whole) {
            return;
        }
        let Some(claim) = self.claims.remove(&ticket) else {
            return;
        };
        let (Some(mut outcome), Some(fetch)) = (claim.outcome, claim.fetch) else {
            return;
        };
        let Fetch {
            buffer,
            unpack,
            notify,
        } = fetch;
        let fitting = claim.bytes.len().min(buffer.bytes());
        match unpack {
            Some(unpack) => unpack(&claim.bytes[..fitting]),
            None => self.station.copy_out(&buffer, &claim.bytes),
        }
        if buffer.bytes() < claim.bytes.len() && outcome.status == Status::Success {
            outcome.status = Status::Truncated;
            outcome.bytes = buffer.bytes() as u64;
        }
        self.acknowledge(&outcome, claim.port);
        let entry = Entry {
            context: notify.context,
            kind: Kind::Receive,
            is_tagged: outcome.tag & UNTAGGED == 0,
            outcome,
            address: buffer.address(),
            is_no_message: false,
        };
        self.push(notify.queue, entry);
    }

    /// Acknowledges a synchronous message to its sender, if that is our task.
    fn acknowledge(&mut self, outcome: &Outcome, port: u32) {
        let wants = |tags: &SyncTags| outcome.tag & (UNTAGGED | tags.message) == tags.message;
        let Some(tags) = self.sync_tags.filter(wants) else {
            return;
        };
        let to = Match {
            port,
            tag: Some(outcome.tag & USER_TAG & !tags.message | tags.acknowledgment),
            ignore: 0,
        };
        let silent = Notify {
            queue: None,
            of_success: false,
            context: 0,
        };
        self.send(outcome.source, to, None, &Buffer::new(0, 0), silent);
    }
}

static PROCESS: Mutex<Option<Process>> = Mutex::new(None);

/// Polls that need no look, as they would find nothing; only changed under the lock, but for polls that use them up.
static IDLE_POLLS: AtomicU32 = AtomicU32::new(0);

/// Whether a poll now finds nothing for certain. Then it counts as made.
pub fn is_idle_poll() -> bool {
    let use_up = |polls: u32| polls.checked_sub(1);
    (IDLE_POLLS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, use_up)).is_ok()
}

/// Threads of this process that sleep until there is news for it.
static SLEEPING: AtomicU32 = AtomicU32::new(0);

/// This process' part of the job, in a call of the program. What lies between two calls of a thread is computing.
pub struct Call {
    /// Taken only when the call ends.
    slot: Option<MutexGuard<'static, Option<Process>>>,
    meter: Meter,
}

impl Deref for Call {
    type Target = Option<Process>;

    fn deref(&self) -> &Option<Process> {
        self.slot.as_ref().expect("held until the call ends")
    }
}

impl DerefMut for Call {
    fn deref_mut(&mut self) -> &mut Option<Process> {
        self.slot.as_mut().expect("held until the call ends")
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let (wait, others) = match self.as_mut() {
            Some(process) => {
                process.allow_idle_polls();
                (process.station.take_wait(), process.take_news())
            }
            None => (None, None),
        };
        self.slot = None;
        // What this thread found may be what another one sleeps for.
        if let Some(news) = others.filter(|_| SLEEPING.load(Ordering::Relaxed) > 0) {
            news.notify();
        }
        // Other threads may call meanwhile.
        if let Some(wait) = wait {
            SLEEPING.fetch_add(1, Ordering::Relaxed);
            wait.wait();
            SLEEPING.fetch_sub(1, Ordering::Relaxed);
        }
        self.meter.leave();
    }
}

/// This process' part of the job, once it has one.
pub fn lock() -> Call {
    let meter = Meter::enter();
    // A panic in between is an abort at the border to C; there is nothing half done to fear.
    let mut slot = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(process) = slot.as_mut() {
        process.enter(meter.gap);
    }
    Call {
        slot: Some(slot),
        meter,
    }
}
