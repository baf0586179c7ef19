//! One process' end of the network: its simulated interface, its clock, and its part in keeping the order of time.
//!
//! Everything here is safe code that does not know libfabric. `docs/adr/0008-fabric.md` explains why the order holds.

mod frame;
mod invariants;
mod order;
mod payloads;
mod remote_key;
mod requests;
mod rings;
mod sharing;
mod steps;
mod trail;
mod turns;
mod wait;

use std::collections::BTreeMap;

use pagemill_nic::{
    Cause, NicCall, NicMachine, NodeSpec, Packet, Rank, Receive, Request, Rma, Send, Step, Traced,
};
use pagemill_types::{CheckSchedule, Invariants, Picos};

use crate::addresses::AddressMap;
use crate::board::{Board, Seen};
use crate::compute::Compute;
use crate::counters::{Counter, Counters};
use crate::events::{Events, What};
use crate::memory::{Buffer, Memory};

use frame::Frame;
use payloads::Payloads;
use requests::{Open, Requests};
use rings::Rings;
use trail::Trail;
use turns::Locking;

pub use order::Settings;
pub use pagemill_nic::{SpecError, Status};
pub use remote_key::{REGISTRATIONS_MAX, RemoteKey};
pub use requests::{Done, Kind, Outcome, Ticket};
pub use wait::Wait;

/// Polls in a row without any event after which the program is taken to wait for one.
const IDLE_POLLS: u32 = 16;

/// What reading the clock costs a program that has done nothing since it last did: 10 ns.
const READING_PS: u64 = 10_000;

/// Readings in a row that all cost the same: a millisecond. A program that reads its clock on and on waits for a time to come; from then
/// on, each reading takes a fixed part of what it has waited, so that it gets through seconds as well.
const READINGS_BEFORE_HASTE: u64 = 100_000;

/// Order of packets: arrival in picoseconds, source, number.
type PacketKey = (u64, u32, u64);

/// An event of the program: time at which it may see it in picoseconds, and the operation's number.
type ReadyKey = (u64, u64);

/// A completion that waits to be seen.
#[derive(Clone, Copy, Debug)]
struct Ready {
    done: Done,
    cost_ps: u64,
    /// Its way.
    trail: Trail,
}

/// One process' end of the network.
pub struct Station {
    board: Board,
    index: u32,
    rank: Rank<Traced>,
    lookahead_ps: u64,
    settings: Settings,
    memory: Box<dyn Memory>,
    addresses: AddressMap,
    rings: Rings,
    counters: Counters,
    events: Option<Events>,
    requests: Requests,
    payloads: Payloads,

    clock_ps: u64,
    /// What the program's clock showed last.
    read_ps: Option<u64>,
    /// Time that passed because the program read its clock and did nothing else.
    waited_ps: u64,
    is_started: bool,
    /// Polls in a row that brought nothing.
    idle_polls: u32,
    /// The clock when the last poll brought nothing.
    looked_ps: Option<u64>,
    /// The program looked for a message and found none: it may see every packet.
    is_looking: bool,
    /// Nothing that is not in `inbox` arrives before this.
    horizon_ps: u64,
    /// The earliest base of the others, when the board was last asked.
    others_ps: u64,
    /// What the board was last told.
    base_ps: u64,
    /// The latest time at which the interface was asked.
    asked_ps: u64,
    /// The state of the news at which the program has nothing to do but wait.
    wait: Option<u32>,
    inbox: BTreeMap<PacketKey, Frame>,
    /// Which stations share an interface.
    node: NodeSpec,
    /// What others of the node asked of the interface, to be repeated here: by the time when they asked, who, and a number.
    repeats: BTreeMap<PacketKey, NicCall>,
    /// Calls that the others were asked to repeat.
    calls_shared: u64,
    /// The latest call of the interface that was made or repeated: when, and whose.
    asked_last: (u64, u32),
    /// The program waits for a lock in shared memory.
    locking: Option<Locking>,
    ready: BTreeMap<ReadyKey, Ready>,
    steps: Vec<Step>,
    checks: CheckSchedule,
}

/// The order of a packet.
fn key_of(packet: &Packet) -> PacketKey {
    let (at, source, sequence) = packet.key();
    (at.0, source, sequence)
}

impl Station {
    /// The station `index` of the board, with an interface of `machine`.
    ///
    /// # Errors
    /// A value of the machine is impossible.
    pub fn new(
        board: Board,
        index: u32,
        machine: &NicMachine,
        settings: Settings,
        memory: Box<dyn Memory>,
    ) -> Result<Self, SpecError> {
        let mut station = Self {
            board,
            index,
            rank: Rank::traced_on(machine, index, board.node())?,
            lookahead_ps: machine.lookahead().0,
            settings,
            memory,
            addresses: AddressMap::new(machine.att.layout.page.bytes()),
            rings: Rings::new(board, index, machine),
            counters: Counters::new(board, index),
            events: (settings.events_max > 0).then(|| Events::new(settings.events_max)),
            requests: Requests::default(),
            payloads: Payloads::default(),
            clock_ps: 0,
            read_ps: None,
            waited_ps: 0,
            is_started: !settings.has_start_line,
            idle_polls: 0,
            looked_ps: None,
            is_looking: false,
            horizon_ps: 0,
            others_ps: 0,
            base_ps: 0,
            asked_ps: 0,
            wait: None,
            inbox: BTreeMap::new(),
            node: board.node(),
            repeats: BTreeMap::new(),
            calls_shared: 0,
            asked_last: (0, 0),
            locking: None,
            ready: BTreeMap::new(),
            steps: Vec::new(),
            checks: CheckSchedule::default(),
        };
        station.record_table();
        Ok(station)
    }

    /// Its number.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// The number of its node, where stations share interfaces.
    pub fn node_number(&self) -> Option<u32> {
        self.node.is_shared().then(|| self.node.of(self.index))
    }

    /// The program reads its clock, in picoseconds. No two readings show the same time, or a program that waits for its clock
    /// would wait for ever.
    pub fn read_clock(&mut self) -> u64 {
        if self.read_ps == Some(self.clock_ps) {
            let step_ps = READING_PS.max(self.waited_ps / READINGS_BEFORE_HASTE);
            self.waited_ps += step_ps;
            self.pass_until(self.clock_ps + step_ps, Counter::ClockPs);
        } else {
            self.waited_ps = 0;
        }
        self.read_ps = Some(self.clock_ps);
        self.counters.add(Counter::ClockReadings, 1);
        self.clock_ps
    }

    /// The program computed for `span_ps` before it called.
    pub fn compute(&mut self, span_ps: u64) {
        if !self.is_started || span_ps == 0 {
            return;
        }
        self.pass_until(self.clock_ps.saturating_add(span_ps), Counter::ComputePs);
        // It does not only wait.
        self.stop_idling();
    }

    /// Leaves on the board what `compute` did not charge.
    pub fn publish_compute(&self, compute: &Compute) {
        self.counters
            .set(Counter::ComputeLeftOutNs, compute.left_out_ns());
        self.counters
            .set(Counter::ComputeUnreached, compute.unreached());
    }

    /// Whether it has crossed the start line.
    pub fn is_started(&self) -> bool {
        self.is_started
    }

    /// Sends the bytes of `buffer`. [`Station::poll`] reports how it ended, under `ticket`.
    pub fn send(
        &mut self,
        dest: u32,
        tag: u64,
        data: Option<u64>,
        buffer: &Buffer,
        ticket: Ticket,
    ) {
        let bytes = buffer.bytes() as u64;
        let address = self.addresses.borrow(bytes);
        let send = Send {
            dest,
            tag,
            bytes,
            address,
        };
        self.count(Counter::Sends, Counter::SentBytes, bytes);
        self.ask(
            ticket,
            Kind::Send,
            (buffer.clone(), address),
            data,
            |rank, at, steps| rank.send(at, &send, steps),
        );
    }

    /// Waits for a message of `source`, or of any station, whose tag is `tag` but for the bits of `ignore`.
    pub fn receive(
        &mut self,
        source: Option<u32>,
        tag: u64,
        ignore: u64,
        buffer: Buffer,
        ticket: Ticket,
    ) {
        let bytes = buffer.bytes() as u64;
        let address = self.addresses.borrow(bytes);
        let receive = Receive {
            source,
            tag,
            ignore,
            bytes,
            address,
        };
        self.ask(
            ticket,
            Kind::Receive,
            (buffer, address),
            None,
            |rank, at, steps| rank.receive(at, &receive, steps),
        );
    }

    /// Writes the bytes of `buffer` to `offset` in the memory that `dest` has registered under `key`.
    pub fn write(
        &mut self,
        dest: u32,
        offset: u64,
        key: RemoteKey,
        buffer: Buffer,
        ticket: Ticket,
    ) {
        let rma = self.rma(dest, offset, key, &buffer);
        self.count(Counter::Writes, Counter::WrittenBytes, rma.bytes);
        self.ask(
            ticket,
            Kind::Write,
            (buffer, rma.address),
            None,
            |rank, at, steps| rank.write(at, &rma, steps),
        );
    }

    /// Reads into `buffer` from `offset` in the memory that `dest` has registered under `key`.
    pub fn read(&mut self, dest: u32, offset: u64, key: RemoteKey, buffer: Buffer, ticket: Ticket) {
        let rma = self.rma(dest, offset, key, &buffer);
        self.count(Counter::Reads, Counter::ReadBytes, rma.bytes);
        self.ask(
            ticket,
            Kind::Read,
            (buffer, rma.address),
            None,
            |rank, at, steps| rank.read(at, &rma, steps),
        );
    }

    fn rma(&mut self, dest: u32, offset: u64, key: RemoteKey, buffer: &Buffer) -> Rma {
        let bytes = buffer.bytes() as u64;
        Rma {
            dest,
            remote_address: key
                .address(self.addresses.page_bytes())
                .saturating_add(offset),
            key: key.key(),
            bytes,
            address: self.addresses.borrow(bytes),
        }
    }

    /// Lets others access `bytes` bytes at `address`; `None` if there are too many registrations.
    pub fn register(&mut self, address: u64, bytes: u64) -> Option<RemoteKey> {
        let simulated = self.addresses.register(address, bytes);
        let key = self.rank.register(simulated, bytes);
        let remote = RemoteKey::new(key, simulated / self.addresses.page_bytes());
        if remote.is_none() {
            self.rank.deregister(key);
            self.addresses.deregister(simulated);
        }
        remote
    }

    /// Takes a registration back; returns whether there was one.
    pub fn deregister(&mut self, key: RemoteKey) -> bool {
        self.addresses
            .deregister(key.address(self.addresses.page_bytes()));
        if !self.node.is_shared() {
            return self.rank.deregister(key.key());
        }
        self.act();
        let asked_ps = self.asking_at();
        self.repeat_until(asked_ps);
        let was_there = self.rank.deregister(key.key());
        self.share_calls(asked_ps);
        was_there
    }

    /// Publishes which endpoints there are, a bit for each.
    pub fn set_ports(&self, ports: u32) {
        self.board.set_ports(self.index, ports);
    }

    /// Whether `dest` has an endpoint. An operation to one that it has not ends with an error, which is counted here.
    pub fn has_port(&self, dest: u32, port: u32) -> bool {
        let has = self.board.has_port(dest, port);
        if !has {
            self.counters.add(Counter::ErrorCompletions, 1);
        }
        has
    }

    /// Looks for a message that a receive would get at once.
    pub fn peek(&mut self, source: Option<u32>, tag: u64, ignore: u64) -> Option<Outcome> {
        let seen = self.board.news(self.index);
        self.look();
        let receive = Receive {
            source,
            tag,
            ignore,
            bytes: 0,
            address: 0,
        };
        let mut found = self.rank.probe(&receive);
        self.is_looking = found.is_none();
        if found.is_none() {
            self.idle_polls = self.idle_polls.saturating_add(1);
            if self.idle_polls > IDLE_POLLS {
                self.wait_for_next(true);
                found = self.rank.probe(&receive);
                if found.is_none() {
                    self.wait_if_idle(seen);
                }
            }
        }
        let (source, tag, bytes) = found?;
        // It arrived while the program waited.
        let oldest = self.payloads.oldest(source, tag);
        let mut trail = oldest.map_or(Trail::new(self.asked_ps), |(_, trail)| trail);
        trail.cut_to(self.asked_ps);
        self.wait_until(self.asked_ps, Counter::ProbeWaitPs, &trail);
        self.idle_polls = 0;
        Some(Outcome {
            status: Status::Success,
            source,
            tag,
            bytes,
            sent_bytes: bytes,
            data: oldest.and_then(|(data, _)| data),
        })
    }

    /// Takes back a receive that nothing matched; its completion says that it was canceled.
    pub fn cancel(&mut self, ticket: Ticket) -> bool {
        self.act();
        let Some(request) = self.requests.find(ticket) else {
            return false;
        };
        let at = Picos(self.asking_at());
        let mut steps = std::mem::take(&mut self.steps);
        let was_there = self.rank.cancel(at, request, &mut steps);
        self.take_steps(&mut steps, &Trail::new(at.0));
        self.steps = steps;
        was_there
    }

    /// The next thing that the program may see now, if there is one.
    ///
    /// A program that polls time and again without finding anything is taken to wait: then its clock moves on to the
    /// next event, as soon as it is certain which one that is.
    pub fn poll(&mut self) -> Option<Done> {
        if let Some(found) = self.poll_in_lock() {
            return found;
        }
        if self.has_just_looked() {
            self.idle_polls += 1;
            return None;
        }
        let seen = self.board.news(self.index);
        self.look();
        if let Some(done) = self.take_ready() {
            self.idle_polls = 0;
            return Some(done);
        }
        self.idle_polls = self.idle_polls.saturating_add(1);
        self.looked_ps = Some(self.clock_ps);
        if self.idle_polls < IDLE_POLLS {
            return None;
        }
        self.wait_for_next(self.is_looking);
        let done = self.take_ready();
        match done {
            Some(_) => self.idle_polls = 0,
            None => self.wait_if_idle(seen),
        }
        done
    }

    /// Lets the program sleep until there is other news than `seen`, unless there is something that it may see now.
    fn wait_if_idle(&mut self, seen: u32) {
        if self.idle_polls > 0 {
            self.wait = Some(seen);
        }
    }

    /// After a poll that brought nothing to a program that waits: how to sleep until there is news. Taken out of the station, so that
    /// it is free for other threads meanwhile.
    pub fn take_wait(&mut self) -> Option<Wait> {
        let seen = self.wait.take()?;
        Some(Wait {
            board: self.board,
            index: self.index,
            seen: self.seen(seen),
        })
    }

    /// What is known of the others, with the news as they were at the last look around.
    fn seen(&self, news: u32) -> Seen {
        Seen {
            news,
            // Where an interface is shared, others may be due to one whose base was not the earliest.
            others_ps: match self.node.is_shared() {
                true => 0,
                false => self.others_ps,
            },
            lookahead_ps: self.lookahead_ps,
        }
    }

    /// How to sleep until there is any news after now.
    pub fn wait_for_any(&self) -> Wait {
        Wait {
            board: self.board,
            index: self.index,
            seen: Seen::news(self.board.news(self.index)),
        }
    }

    /// Polls from now on that would find nothing, if the program does nothing else meanwhile.
    pub fn idle_polls_ahead(&self) -> u32 {
        match self.has_just_looked() {
            true => IDLE_POLLS - 1 - self.idle_polls,
            false => 0,
        }
    }

    /// The program has made so many of them.
    pub fn count_idle_polls(&mut self, polls: u32) {
        self.idle_polls += polls;
    }

    /// Whether another look would find nothing: at the time of the clock, all that can have happened was seen.
    fn has_just_looked(&self) -> bool {
        let is_short_of_waiting = 0 < self.idle_polls && self.idle_polls + 1 < IDLE_POLLS;
        self.is_started && is_short_of_waiting && self.looked_ps == Some(self.clock_ps)
    }

    /// Copies from the program's memory, at no cost.
    pub fn copy_in(&self, buffer: &Buffer) -> Vec<u8> {
        buffer.load(self.memory.as_ref())
    }

    /// Copies to the program's memory, at no cost.
    pub fn copy_out(&mut self, buffer: &Buffer, bytes: &[u8]) {
        buffer.store(self.memory.as_mut(), bytes);
    }

    /// Makes a call of the interface, at the time of the program.
    fn ask(
        &mut self,
        ticket: Ticket,
        kind: Kind,
        (buffer, simulated): (Buffer, u64),
        data: Option<u64>,
        call: impl FnOnce(&mut Rank<Traced>, Picos, &mut Vec<Step>) -> Request,
    ) {
        self.act();
        let at = self.asking_at();
        self.repeat_until(at);
        let mut steps = std::mem::take(&mut self.steps);
        let request = call(&mut self.rank, Picos(at), &mut steps);
        let open = Open {
            ticket,
            kind,
            buffer,
            simulated,
            data,
            sent_bytes: None,
            trail: None,
        };
        self.requests.add(request, open);
        self.share_calls(at);
        self.take_steps(&mut steps, &Trail::new(at));
        self.steps = steps;
        self.pass_until(self.rank.busy_until().0, kind.software());
        self.check_if_due();
    }

    fn check_if_due(&mut self) {
        if self.checks.is_due() {
            self.debug_check();
        }
    }

    /// Moves the clock on to `until_ps`, unless it is there already, and counts for what.
    fn pass_until(&mut self, until_ps: u64, cause: Counter) {
        let span_ps = until_ps.saturating_sub(self.clock_ps);
        if let (Some(events), 1..) = (&mut self.events, span_ps) {
            let until_ps = self.clock_ps + span_ps;
            events.add(What::Passed(cause), self.clock_ps, until_ps, 0);
        }
        self.clock_ps += span_ps;
        self.counters.add(cause, span_ps);
    }

    /// What happened, for a timeline.
    pub fn events(&self) -> Option<&Events> {
        self.events.as_ref()
    }

    /// Moves the clock on to `until_ps`, to which the program waited by the way `trail`.
    fn wait_until(&mut self, until_ps: u64, wait: Counter, trail: &Trail) {
        let span_ps = until_ps.saturating_sub(self.clock_ps);
        let mut way = *trail;
        way.go_on(until_ps, Cause::Partner);
        self.pass_until(until_ps, wait);
        let mut end_ps = self.clock_ps;
        for (cause, share_ps) in way.latest(span_ps) {
            self.counters.add_share(wait, cause, share_ps);
            if let Some(events) = &mut self.events {
                events.add(What::Waited(cause), end_ps - share_ps, end_ps, 0);
            }
            end_ps -= share_ps;
        }
    }

    /// The interface is never asked in its past.
    fn asking_at(&mut self) -> u64 {
        self.asked_ps = self.asked_ps.max(self.clock_ps);
        self.asked_ps
    }

    /// What the program may see now, without looking for more.
    pub fn take_ready(&mut self) -> Option<Done> {
        let (key, _) = self.ready.first_key_value()?;
        if key.0 > self.clock_ps {
            return None;
        }
        let (_, ready) = self.ready.pop_first()?;
        let Done { kind, outcome, .. } = ready.done;
        self.pass_until(self.clock_ps + ready.cost_ps, kind.software());
        if kind == Kind::Receive && outcome.status != Status::Canceled {
            self.count(Counter::Receives, Counter::ReceivedBytes, outcome.bytes);
        }
        Some(ready.done)
    }

    fn count(&self, operations: Counter, sum: Counter, bytes: u64) {
        self.counters.add(operations, 1);
        self.counters.add(sum, bytes);
    }

    /// Leaves what was counted on the board.
    fn publish(&self) {
        self.board.publish_clock(self.index, self.clock_ps);
        self.counters.set_all(&self.rank.counts());
    }
}
