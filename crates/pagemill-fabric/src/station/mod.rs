//! One process' end of the network: its simulated interface, its clock, and its part in keeping the order of time.
//!
//! Everything here is safe code that does not know libfabric. See `docs/adr/0008-fabric.md` for why the order holds.

mod frame;
mod requests;
mod wires;

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use crate::board::{Board, NEVER};
use crate::counters::{Counter, Counters};
use crate::engine::{self, MessageId, Rank, Request, Status, Step};
use crate::memory::{Buffer, Memory};

use frame::Frame;
use requests::Requests;
use wires::Wires;

pub use requests::{Done, Kind, Outcome, Ticket};

/// Polls in a row without any event after which the program is taken to wait for one.
const IDLE_POLLS: u32 = 16;

/// Tries to see all rings empty before a look at the others' times is put off.
const DRAIN_TRIES: u32 = 4;

/// How a station is set up.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Real time without any progress of the others after which their order is given up.
    pub patience: Duration,
    /// Whether a start line follows: until then, messages are taken as they come.
    pub has_start_line: bool,
}

/// One process' end of the network.
pub struct Station {
    board: Board,
    index: u32,
    rank: Rank,
    lookahead_ps: u64,
    settings: Settings,
    memory: Box<dyn Memory>,
    wires: Wires,
    counters: Counters,
    requests: Requests,

    clock_ps: u64,
    is_started: bool,
    /// Polls in a row that brought nothing.
    idle_polls: u32,
    /// Nothing that is not in `inbox` arrives before this.
    horizon_ps: u64,
    /// What the board was last told.
    base_ps: u64,
    /// The latest packet that the interface was given.
    last_key: (u64, u32, u64),
    inbox: BTreeMap<(u64, u32, u64), Frame>,
    payloads: HashMap<MessageId, (Option<u64>, Vec<u8>)>,
    /// What the program is to see, by the time at which it may.
    ready: BTreeMap<(u64, u64), Done>,
    ready_count: u64,
    steps: Vec<Step>,
}

impl Station {
    /// The station `index` of the board.
    pub fn new(board: Board, index: u32, settings: Settings, memory: Box<dyn Memory>) -> Self {
        Self {
            board,
            index,
            rank: Rank::new(index),
            lookahead_ps: engine::LATENCY,
            settings,
            memory,
            wires: Wires::new(board, index),
            counters: Counters::new(board, index),
            requests: Requests::default(),
            clock_ps: 0,
            is_started: !settings.has_start_line,
            idle_polls: 0,
            horizon_ps: 0,
            base_ps: 0,
            last_key: (0, 0, 0),
            inbox: BTreeMap::new(),
            payloads: HashMap::new(),
            ready: BTreeMap::new(),
            ready_count: 0,
            steps: Vec::new(),
        }
    }

    /// Its number.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// The program's time, in picoseconds.
    pub fn clock_ps(&self) -> u64 {
        self.clock_ps
    }

    /// Sends the bytes of `buffer`. What becomes of it is told by [`Station::poll`], under `ticket`.
    pub fn send(&mut self, dest: u32, tag: u64, data: Option<u64>, buffer: &Buffer, ticket: Ticket) {
        self.act();
        let send = engine::Send {
            dest,
            tag,
            bytes: buffer.bytes() as u64,
            address: buffer.address(),
        };
        let mut steps = std::mem::take(&mut self.steps);
        let request = self.rank.send(self.clock_ps, &send, &mut steps);
        self.requests.add(request, ticket, Kind::Send, buffer.clone());
        self.take_steps(&mut steps, data, Some(buffer));
        self.steps = steps;
        self.clock_ps = self.clock_ps.max(self.rank.busy_until());
        self.counters.add(Counter::SendCalls, 1);
    }

    /// Waits for a message of `source`, or of anybody, whose tag is `tag` but for the bits of `ignore`.
    pub fn receive(&mut self, source: Option<u32>, tag: u64, ignore: u64, buffer: Buffer, ticket: Ticket) {
        self.act();
        let receive = engine::Receive {
            source,
            tag,
            ignore,
            bytes: buffer.bytes() as u64,
            address: buffer.address(),
        };
        let mut steps = std::mem::take(&mut self.steps);
        let request = self.rank.receive(self.clock_ps, &receive, &mut steps);
        self.requests.add(request, ticket, Kind::Receive, buffer);
        self.take_steps(&mut steps, None, None);
        self.steps = steps;
        self.clock_ps = self.clock_ps.max(self.rank.busy_until());
    }

    /// Looks for a message that a receive would get at once.
    pub fn peek(&mut self, source: Option<u32>, tag: u64, ignore: u64) -> Option<Outcome> {
        self.look();
        let receive = engine::Receive {
            source,
            tag,
            ignore,
            bytes: 0,
            address: 0,
        };
        let Some(packet) = self.rank.peek(&receive) else {
            self.idle_polls = self.idle_polls.saturating_add(1);
            if self.idle_polls > IDLE_POLLS {
                self.wait_for_next();
            }
            return None;
        };
        self.idle_polls = 0;
        Some(Outcome {
            status: Status::Success,
            source: packet.source,
            tag: packet.tag,
            bytes: packet.bytes,
            sent_bytes: packet.bytes,
            data: self.payloads.get(&packet.message()).and_then(|(data, _)| *data),
        })
    }

    /// Copies to the program's memory, at no cost.
    pub fn copy_out(&mut self, buffer: &Buffer, bytes: &[u8]) {
        buffer.store(self.memory.as_mut(), bytes);
    }

    /// Takes back a receive that nothing matched; the completion says `Canceled`.
    pub fn cancel(&mut self, ticket: Ticket) -> bool {
        self.act();
        let Some(request) = self.requests.find(ticket) else {
            return false;
        };
        if !self.rank.cancel(self.clock_ps, request) {
            return false;
        }
        let outcome = Outcome {
            status: Status::Canceled,
            ..Outcome::of_nothing()
        };
        self.finish(request, self.clock_ps, outcome);
        true
    }

    /// The next thing that the program may see now, if there is one.
    ///
    /// A program that polls time and again without finding anything is taken to wait: then its clock moves on to the next event,
    /// as soon as it is certain which one that is.
    pub fn poll(&mut self) -> Option<Done> {
        self.look();
        if let Some(done) = self.take_ready() {
            self.idle_polls = 0;
            return Some(done);
        }
        self.idle_polls = self.idle_polls.saturating_add(1);
        if self.idle_polls < IDLE_POLLS {
            return None;
        }
        self.wait_for_next();
        let done = self.take_ready();
        if done.is_some() {
            self.idle_polls = 0;
        } else {
            std::thread::yield_now();
        }
        done
    }

    /// Crosses the start line: waits until all stations are here, and sets all clocks to the latest of them.
    pub fn start(&mut self) {
        if self.is_started {
            return;
        }
        self.board.start(self.index, self.clock_ps);
        let patience = Patience::new(self.settings.patience);
        loop {
            self.pump();
            if let Some(latest) = self.board.started() {
                self.clock_ps = latest;
                break;
            }
            if patience.is_out() {
                self.counters.add(Counter::ForcedSteps, 1);
                break;
            }
            std::thread::yield_now();
        }
        self.is_started = true;
        self.idle_polls = 0;
        self.horizon_ps = 0;
        self.synchronise(self.clock_ps);
    }

    /// Sends what is on its way out, and leaves the board.
    pub fn leave(&mut self) {
        let patience = Patience::new(self.settings.patience);
        while !self.wires.is_flushed() && !patience.is_out() {
            self.pump();
            std::thread::yield_now();
        }
        self.board.publish_clock(self.index, self.clock_ps);
        self.board.leave(self.index);
    }

    /// Before the program does something: all that happened until now has happened.
    fn act(&mut self) {
        if self.idle_polls > IDLE_POLLS && self.base_ps > self.clock_ps {
            // The others were told that nothing would come before `base_ps`.
            self.counters.add(Counter::LateSteps, 1);
        }
        self.idle_polls = 0;
        self.settle();
    }

    /// Before the program looks: the same, unless it has looked already.
    fn look(&mut self) {
        if self.idle_polls == 0 {
            self.settle();
        } else {
            self.pump();
        }
        self.process_until(self.clock_ps);
    }

    /// Waits until no message can come any more that arrives up to now, and processes those that did.
    fn settle(&mut self) {
        self.pump();
        if self.is_started && self.horizon_ps <= self.clock_ps {
            let mut patience = Patience::new(self.settings.patience);
            loop {
                let before = self.horizon_ps;
                self.synchronise(self.clock_ps);
                if self.horizon_ps > self.clock_ps {
                    break;
                }
                if self.horizon_ps > before {
                    patience = Patience::new(self.settings.patience);
                } else if patience.is_out() {
                    self.counters.add(Counter::ForcedSteps, 1);
                    break;
                }
                std::thread::yield_now();
            }
        }
        self.process_until(self.clock_ps);
    }

    /// Moves on to the next event if it is certain which one that is.
    fn wait_for_next(&mut self) {
        loop {
            let arrival = self.inbox.first_key_value().map_or(NEVER, |(key, _)| key.0);
            let ready = self.ready.first_key_value().map_or(NEVER, |(key, _)| key.0);
            let next = arrival.min(ready);
            if self.is_started {
                self.synchronise(next);
            }
            // Something earlier may have come to light.
            let arrival_now = self.inbox.first_key_value().map_or(NEVER, |(key, _)| key.0);
            let is_certain = !self.is_started || next < self.horizon_ps;
            if next == NEVER || arrival_now < arrival || !is_certain || self.wires.earliest_partial() <= next {
                return;
            }
            if arrival <= ready {
                self.process_first();
            } else {
                self.clock_ps = self.clock_ps.max(ready);
                self.board.publish_clock(self.index, self.clock_ps);
                return;
            }
        }
    }

    /// Gives the interface what arrived up to `until_ps`.
    fn process_until(&mut self, until_ps: u64) {
        while let Some((key, _)) = self.inbox.first_key_value() {
            let is_certain = !self.is_started || key.0 < self.horizon_ps;
            if key.0 > until_ps || !is_certain || self.wires.earliest_partial() <= key.0 {
                return;
            }
            self.process_first();
        }
    }

    fn process_first(&mut self) {
        let Some((key, frame)) = self.inbox.pop_first() else {
            return;
        };
        if key < self.last_key {
            self.counters.add(Counter::LateSteps, 1);
        }
        self.last_key = self.last_key.max(key);
        self.payloads.insert(frame.packet.message(), (frame.data, frame.payload));
        let mut steps = std::mem::take(&mut self.steps);
        self.rank.arrive(&frame.packet, &mut steps);
        self.take_steps(&mut steps, None, None);
        self.steps = steps;
    }

    fn take_steps(&mut self, steps: &mut Vec<Step>, data: Option<u64>, buffer: Option<&Buffer>) {
        for step in steps.drain(..) {
            match step {
                Step::Transmit(packet) => {
                    let payload = match buffer {
                        Some(buffer) if packet.payload_bytes() > 0 => buffer.load(self.memory.as_ref()),
                        _ => Vec::new(),
                    };
                    self.horizon_ps = self.horizon_ps.min(packet.key().0.saturating_add(self.lookahead_ps));
                    let frame = Frame { packet, data, payload };
                    if packet.dest == self.index {
                        self.inbox.insert(packet.key(), frame);
                    } else {
                        self.wires.send(frame);
                    }
                }
                Step::Deliver { request, message, bytes } => {
                    if let Some((data, payload)) = self.payloads.remove(&message) {
                        self.requests.fill(request, data, &payload, bytes, self.memory.as_mut());
                    }
                }
                Step::Complete { request, at, completion } => {
                    let outcome = Outcome::of(&completion);
                    self.finish(request, at, outcome);
                }
            }
        }
    }

    fn finish(&mut self, request: Request, at_ps: u64, outcome: Outcome) {
        let Some(done) = self.requests.finish(request, outcome) else {
            return;
        };
        self.ready_count += 1;
        self.ready.insert((at_ps, self.ready_count), done);
    }

    fn take_ready(&mut self) -> Option<Done> {
        let (key, _) = self.ready.first_key_value()?;
        if key.0 > self.clock_ps {
            return None;
        }
        self.ready.pop_first().map(|(_, done)| done)
    }

    fn pump(&mut self) {
        let inbox = &mut self.inbox;
        self.wires.pump(&mut |frame| {
            inbox.insert(frame.packet.key(), frame);
        });
    }

    /// Tells the others that this station does nothing before `next_ps` but what is in its inbox, and learns how far they are.
    fn synchronise(&mut self, next_ps: u64) {
        for _ in 0..DRAIN_TRIES {
            self.pump();
            let held = self.board.lock();
            if !self.wires.is_drained() {
                continue;
            }
            let arrival = self.inbox.first_key_value().map_or(NEVER, |(key, _)| key.0);
            let base = next_ps
                .min(arrival)
                .min(self.wires.earliest_partial())
                .min(self.wires.earliest_unsent());
            let others = self.board.earliest_other(self.index);
            self.board.set_base(&held, self.index, base);
            self.base_ps = base;
            self.horizon_ps = others.saturating_add(self.lookahead_ps);
            return;
        }
    }
}

/// How much real time is left.
struct Patience {
    until: Instant,
}

impl Patience {
    fn new(span: Duration) -> Self {
        Self {
            until: Instant::now() + span,
        }
    }

    fn is_out(&self) -> bool {
        Instant::now() >= self.until
    }
}
