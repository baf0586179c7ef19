//! One process of a message-passing program over its interface: matching, eager and rendezvous messages, RMA.

mod invariants;
mod long;
mod registered;

use std::collections::BTreeMap;
use std::sync::Arc;

use pagemill_types::{CheckSchedule, Invariants, Picos};

use super::counts::NicCounts;
use super::descriptor::{
    Arrived, Departure, Flight, FlightKind, Lane, MemoryKey, Operation, Part, Place, PortId, Post,
    Posted, Status,
};
use super::interface::Nic;
use super::machine::{MessageSpec, NicMachine};
use super::matching::{self, Matching, Unexpected};
use super::moment::{Cause, Moment, Moments, Sent, Traced};
use super::node::{NicCall, NodeSpec, described};
use super::packet::{Body, Completion, Packet, Receive, Request, Rma, Send, Step};
use super::registration::Registrations;
use pagemill_pages::SpecError;

/// A process, its port, and its interface. It is asked in non-decreasing time; packets are handed over in the order of
/// their keys, and before own calls of the same time.
#[derive(Debug)]
pub struct Rank<M = Picos> {
    id: u32,
    nic: Nic,
    port: PortId,
    messages: MessageSpec,
    matching: Matching,
    /// Operations that wait for an answer of another rank.
    pending: BTreeMap<Request, Pending>,
    next_request: u64,
    next_sequence: u64,
    busy_until: Picos,
    moments: Moments<M>,
    node: NodeSpec,
    /// What it asked of its interface since the other ranks of its node were informed.
    calls: Vec<NicCall>,
    /// What the library registered for long messages, and how often and how long it did.
    registrations: Option<Registrations>,
    registered: (u64, Picos),
    checks: CheckSchedule,
}

/// What is remembered about an operation until its answer comes.
#[derive(Clone, Copy, Debug)]
enum Pending {
    Send(long::Announced),
    Receive(long::Wanted),
    Write(Rma),
    Read(Rma),
}

/// The port of a rank whose interface has no port left.
const PORT: PortId = PortId(0);

impl Rank {
    /// Rank `id` with an idle interface.
    ///
    /// # Errors
    /// A value of the machine is impossible.
    pub fn new(machine: &NicMachine, id: u32) -> Result<Self, SpecError> {
        machine.check()?;
        Self::of_checked(&Arc::new(machine.clone()), id)
    }
}

impl Rank<Traced> {
    /// As [`Rank::new`], of a rank that says what its transfers spent their time on.
    ///
    /// # Errors
    /// A value of the machine is impossible.
    pub fn traced(machine: &NicMachine, id: u32) -> Result<Self, SpecError> {
        Self::traced_on(machine, id, NodeSpec::ALONE)
    }

    /// As [`Rank::traced`], of a rank that shares its interface with the others of its node.
    ///
    /// # Errors
    /// A value of the machine is impossible.
    pub fn traced_on(machine: &NicMachine, id: u32, node: NodeSpec) -> Result<Self, SpecError> {
        machine.check()?;
        Self::on_node(&Arc::new(machine.clone()), id, node)
    }
}

impl<M: Moment> Rank<M> {
    /// The moments of the last call, or of the last packet. Only a rank that is traced keeps them.
    pub fn moments(&self) -> &Moments<M> {
        &self.moments
    }

    /// As [`Rank::new`], of a machine that was checked; many ranks share it.
    pub(super) fn of_checked(machine: &Arc<NicMachine>, id: u32) -> Result<Self, SpecError> {
        Self::on_node(machine, id, NodeSpec::ALONE)
    }

    fn on_node(machine: &Arc<NicMachine>, id: u32, node: NodeSpec) -> Result<Self, SpecError> {
        let mut nic = Nic::of_checked(machine)?;
        let mut port = PORT;
        for mate in node.mates(id) {
            let opened = nic.open_port(u64::from(mate)).unwrap_or(PORT);
            if mate == id {
                port = opened;
            }
        }
        Ok(Self {
            node,
            calls: Vec::new(),
            id,
            port,
            messages: machine.messages,
            nic,
            matching: Matching::default(),
            pending: BTreeMap::new(),
            next_request: 0,
            next_sequence: 0,
            busy_until: Picos::ZERO,
            moments: Moments::default(),
            registrations: Registrations::new(
                machine.messages.registration.as_ref(),
                machine.att.layout.page.bytes(),
            ),
            registered: (0, Picos::ZERO),
            checks: CheckSchedule::default(),
        })
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// When its program can make the next call.
    #[inline]
    pub fn busy_until(&self) -> Picos {
        self.busy_until
    }

    /// What its interface counted.
    pub fn counts(&self) -> NicCounts {
        NicCounts {
            registrations: self.registered.0,
            registering: self.registered.1,
            ..self.nic.counts()
        }
    }

    /// Receives that wait for a message, messages that wait for a receive, operations that wait for an answer.
    pub fn waiting(&self) -> (usize, usize, usize) {
        let (posted, unexpected) = self.matching.waiting();
        (posted, unexpected, self.pending.len())
    }

    /// What it asked of its interface since it was last asked for this, for the other ranks of its node. Empty where it has one of
    /// its own.
    pub fn take_calls(&mut self) -> Vec<NicCall> {
        std::mem::take(&mut self.calls)
    }

    /// Does what another rank of the node asked of the interface that they share. All its ranks do all calls in the same order.
    pub fn repeat(&mut self, call: &NicCall) {
        self.nic.repeat(call);
    }

    /// The interface is idle again, its cache empty.
    ///
    /// # Errors
    /// A value of the machine is impossible.
    pub fn restart_interface(&mut self) -> Result<(), SpecError> {
        self.calls.clear();
        self.nic.restart()
    }

    #[inline]
    fn has_called(&mut self, call: impl FnOnce() -> NicCall) {
        if self.node.is_shared() {
            self.calls.push(call());
        }
    }

    /// Sends a message at `at`.
    #[inline]
    pub fn send(&mut self, at: Picos, send: &Send, steps: &mut Vec<Step>) -> Request {
        let request = self.new_request();
        let rung = self.busy_for(at, self.messages.send_overhead);
        let is_local = self.node.is_local(self.id, send.dest);
        // Three protocols by length, as MPI libraries over such interfaces have them (MVAPICH, Open MPI's openib):
        //
        //   short       sender:  descriptor holds the bytes ------------------>  copied out
        //   eager       sender:  copy to a buffer, write --------------------->  copied out
        //   rendezvous  sender:  announce -->  receive posted: clear -->  data straight into place
        //
        // The first two end at the sender when its buffer is free again; the third when the receiver has met it, however late that is.
        if is_local || send.bytes <= u64::from(self.messages.eager_bytes) {
            self.send_eager(rung, request, send, steps);
        } else {
            self.announce(rung, request, send, steps);
        }
        self.check_if_due();
        request
    }

    fn send_eager(&mut self, rung: Picos, request: Request, send: &Send, steps: &mut Vec<Step>) {
        let body = Body::Eager { tag: send.tag };
        // A message this short rides in the descriptor: the interface reads no memory for it, and its buffer is free at once.
        let is_local = self.node.is_local(self.id, send.dest);
        let done = if !is_local && send.bytes <= u64::from(self.messages.short_bytes) {
            self.short(rung, send.dest, send.bytes as u32, body, steps);
            rung
        } else {
            // The copy is the program's time, the write behind it the interface's: a sender goes on while its data leave.
            let copied = self.busy_for(rung, self.messages.copy_bandwidth.time_for(send.bytes));
            let operation = Operation::Write {
                local: COPY_BUFFER,
                remote: COPY_BUFFER,
                bytes: send.bytes,
                lane: Lane::Message,
            };
            self.post(copied, send.dest, operation, body, steps);
            copied
        };
        let completion = Completion {
            status: Status::Success,
            peer: send.dest,
            tag: send.tag,
            bytes: send.bytes,
        };
        steps.push(Step::Complete {
            request,
            at: done,
            cost: Picos::ZERO,
            completion,
        });
    }

    /// Offers a buffer for a message at `at`.
    #[inline]
    pub fn receive(&mut self, at: Picos, receive: &Receive, steps: &mut Vec<Step>) -> Request {
        let request = self.new_request();
        self.busy_for(at, Picos::ZERO);
        match self.matching.wanted(receive) {
            None => self.matching.post(request, *receive),
            Some(message) => {
                let posted = matching::Posted {
                    request,
                    receive: *receive,
                };
                // The message may still be arriving: it is known from its first packet on, and its data are there at `ready_at`.
                self.matched(at.max(message.ready_at), &posted, &message, steps);
            }
        }
        self.check_if_due();
        request
    }

    /// Takes a receive back at `at`, if no message has come for it; it then completes as canceled.
    pub fn cancel(&mut self, at: Picos, request: Request, steps: &mut Vec<Step>) -> bool {
        let was_there = self.matching.cancel(request);
        if was_there {
            let completion = Completion {
                status: Status::Canceled,
                peer: self.id,
                tag: 0,
                bytes: 0,
            };
            steps.push(Step::Complete {
                request,
                at,
                cost: Picos::ZERO,
                completion,
            });
        }
        was_there
    }

    /// Source, tag and length of the message that `receive` would take, if it has arrived.
    pub fn probe(&self, receive: &Receive) -> Option<(u32, u64, u64)> {
        let message = self.matching.peek(receive)?;
        Some((message.message.source, message.tag, message.bytes))
    }

    /// Writes own memory to memory of another rank at `at`.
    pub fn write(&mut self, at: Picos, rma: &Rma, steps: &mut Vec<Step>) -> Request {
        let request = self.new_request();
        let rung = self.busy_for(at, self.messages.rma_overhead);
        let (local, remote) = places(rma);
        let operation = Operation::Write {
            local,
            remote,
            bytes: rma.bytes,
            lane: Lane::Bulk,
        };
        self.pending.insert(request, Pending::Write(*rma));
        self.post(
            rung,
            rma.dest,
            operation,
            Body::Write { operation: request },
            steps,
        );
        request
    }

    /// Reads memory of another rank into own memory at `at`.
    pub fn read(&mut self, at: Picos, rma: &Rma, steps: &mut Vec<Step>) -> Request {
        let request = self.new_request();
        let rung = self.busy_for(at, self.messages.rma_overhead);
        let (local, remote) = places(rma);
        let operation = Operation::Read {
            local,
            remote,
            bytes: rma.bytes,
        };
        self.pending.insert(request, Pending::Read(*rma));
        self.post(
            rung,
            rma.dest,
            operation,
            Body::Read { operation: request },
            steps,
        );
        request
    }

    /// Takes a packet of another rank.
    #[inline]
    pub fn arrive(&mut self, packet: &Packet, steps: &mut Vec<Step>) {
        let flight = &packet.flight;
        let arrived = if self.node.is_local(self.id, packet.source) {
            Arrived {
                done_at: M::new(flight.departure.last),
                status: self
                    .nic
                    .check_flight(flight)
                    .err()
                    .unwrap_or(Status::Success),
            }
        } else {
            let arrived: Arrived<M> = self.nic.take(flight);
            self.has_called(|| NicCall::Arrive {
                flight: *flight,
                status: arrived.status,
            });
            arrived
        };
        self.arrived(packet, arrived, steps);
    }

    /// Takes a part of a packet of another rank.
    pub fn arrive_part(&mut self, packet: &Packet, part: &Part, steps: &mut Vec<Step>) {
        if let Some(arrived) = self.nic.take_part(&packet.flight, part) {
            self.arrived(packet, arrived, steps);
        }
    }

    #[inline]
    fn arrived(&mut self, packet: &Packet, arrived: Arrived<M>, steps: &mut Vec<Step>) {
        let at = arrived.done_at.at();
        if M::IS_TRACED {
            self.moments = Moments {
                arrived: Some(arrived.done_at),
                sent: None,
            };
        }
        match packet.body {
            Body::Eager { tag } => self.message(at, packet, tag, packet.flight.bytes, None, steps),
            Body::Announce { tag, bytes, send } => {
                self.message(at, packet, tag, bytes, Some(send), steps)
            }
            Body::Clear {
                send,
                receive,
                address,
                bytes,
            } => {
                self.cleared(at, send, receive, address, bytes, steps);
            }
            Body::Window { send, receive } => {
                self.clear(at, receive, packet.source, send, steps);
            }
            Body::Data { receive, .. } => self.data(at, packet, receive, steps),
            // A write that the translation table refused stores nothing, and its sender hears so: bytes are never half there.
            Body::Write { operation } => {
                if arrived.status.is_success() {
                    let (address, bytes) = (packet.flight.to.address, packet.flight.bytes);
                    steps.push(Step::Store {
                        address,
                        message: packet.message(),
                        bytes,
                        at,
                        cost: self.messages.rma_overhead,
                    });
                }
                self.acknowledge(at, packet.source, operation, arrived.status, steps);
            }
            Body::Read { operation } => match arrived.status {
                Status::Success => self.answer(at, packet, operation, steps),
                status => self.acknowledge(at, packet.source, operation, status, steps),
            },
            Body::ReadData { operation } => {
                self.read_data(at, packet, operation, arrived.status, steps)
            }
            Body::Acknowledge { operation, status } => self.finish(at, operation, status, steps),
            Body::Call { .. } => {}
        }
        self.check_if_due();
    }

    #[inline]
    fn check_if_due(&mut self) {
        if self.checks.is_due() {
            self.debug_check();
        }
    }

    /// A message or its announcement is here at `at`.
    fn message(
        &mut self,
        at: Picos,
        packet: &Packet,
        tag: u64,
        bytes: u64,
        announced: Option<Request>,
        steps: &mut Vec<Step>,
    ) {
        let message = Unexpected {
            message: packet.message(),
            tag,
            bytes,
            ready_at: at,
            announced,
        };
        match self.matching.arrived(packet.source, tag) {
            // MPI's order: of messages that fit a receive the first that was sent, of receives that fit a message the first that was posted.
            Some(posted) => self.matched(at, &posted, &message, steps),
            None => self.matching.keep(message),
        }
    }

    /// Message and receive have met at `at`.
    fn matched(
        &mut self,
        at: Picos,
        posted: &matching::Posted,
        message: &Unexpected,
        steps: &mut Vec<Step>,
    ) {
        let (request, source) = (posted.request, message.message.source);
        // MPI's truncation: what fits is delivered, and the status says that it was cut.
        let bytes = message.bytes.min(posted.receive.bytes);
        let is_truncated = bytes < message.bytes;
        if let Some(send) = message.announced {
            let wanted = long::Wanted {
                tag: message.tag,
                address: posted.receive.address,
                bytes,
                is_truncated,
            };
            self.want(at, request, source, send, wanted, steps);
            return;
        }
        steps.push(Step::Deliver {
            request,
            message: message.message,
            bytes,
        });
        let completion = Completion {
            status: received(is_truncated),
            peer: source,
            tag: message.tag,
            bytes,
        };
        let cost = self.messages.receive_overhead + self.messages.copy_bandwidth.time_for(bytes);
        steps.push(Step::Complete {
            request,
            at,
            cost,
            completion,
        });
    }

    fn answer(&mut self, at: Picos, request: &Packet, operation: Request, steps: &mut Vec<Step>) {
        let (flight, last) = match self.node.is_local(self.id, request.source) {
            // Within a node a process reads by one copy, whole before the other looks: no first byte goes ahead of the last.
            true => {
                let copied = self.copied(at, request.flight.bytes);
                let seen = copied.after(self.node.latency, Cause::Software);
                let departure = Departure {
                    first: seen.at(),
                    last: seen.at(),
                };
                let flight = Flight {
                    kind: FlightKind::ReadData,
                    port: self.node.port(request.source),
                    departure,
                    ..request.flight
                };
                (flight, seen)
            }
            false => {
                let back_to = self.node.port(request.source);
                let request = request.flight;
                self.has_called(|| NicCall::Answer {
                    at,
                    request,
                    back_to,
                });
                self.nic.answer(M::new(at), &request, back_to)
            }
        };
        self.has_sent(at, last, last);
        let packet = self.packet(request.source, flight, Body::ReadData { operation });
        steps.push(Step::Transmit(packet));
    }

    fn read_data(
        &mut self,
        at: Picos,
        packet: &Packet,
        operation: Request,
        status: Status,
        steps: &mut Vec<Step>,
    ) {
        if status.is_success() && packet.flight.bytes > 0 {
            let bytes = packet.flight.bytes;
            steps.push(Step::Deliver {
                request: operation,
                message: packet.message(),
                bytes,
            });
        }
        self.finish(at, operation, status, steps);
    }

    fn acknowledge(
        &mut self,
        at: Picos,
        dest: u32,
        operation: Request,
        status: Status,
        steps: &mut Vec<Step>,
    ) {
        let target_port = self.node.port(dest);
        let (flight, last) = match self.node.is_local(self.id, dest) {
            true => {
                let seen = M::new(at).after(self.node.latency, Cause::Software);
                let nothing = Operation::Short { bytes: 0 };
                (described(&nothing, target_port, seen.at()), seen)
            }
            false => {
                self.has_called(|| NicCall::Acknowledge { at, target_port });
                self.nic.acknowledge(M::new(at), target_port)
            }
        };
        self.has_sent(at, last, last);
        let packet = self.packet(dest, flight, Body::Acknowledge { operation, status });
        steps.push(Step::Transmit(packet));
    }

    /// An RMA operation is over.
    fn finish(&mut self, at: Picos, request: Request, status: Status, steps: &mut Vec<Step>) {
        let (Some(Pending::Write(rma)) | Some(Pending::Read(rma))) = self.pending.remove(&request)
        else {
            return;
        };
        // The origin pays once more when it takes the answer; the target, which has no part in the operation, pays nothing.
        let bytes = if status.is_success() { rma.bytes } else { 0 };
        let completion = Completion {
            status,
            peer: rma.dest,
            tag: 0,
            bytes,
        };
        steps.push(Step::Complete {
            request,
            at,
            cost: self.messages.rma_overhead,
            completion,
        });
    }

    fn short(&mut self, rung: Picos, dest: u32, bytes: u32, body: Body, steps: &mut Vec<Step>) {
        self.post(rung, dest, Operation::Short { bytes }, body, steps);
    }

    /// Hands an operation to the interface; returns when its buffer may be used again. One that is refused completes.
    fn post(
        &mut self,
        rung: Picos,
        dest: u32,
        operation: Operation,
        body: Body,
        steps: &mut Vec<Step>,
    ) -> Picos {
        // Ranks of one node share the interface and all of its state, so each keeps a copy of it and repeats the others' calls in one
        // order (`NicCall`): processes stay apart, and times equal those of a single interface.
        if self.node.is_local(self.id, dest) {
            return self.pass(rung, dest, &operation, body, steps);
        }
        let post = Post {
            port: self.port,
            process: u64::from(self.id),
            target_port: self.node.port(dest),
            operation,
        };
        self.has_called(|| NicCall::Post { at: rung, post });
        match self.nic.post(M::new(rung), &post) {
            Posted::Sent {
                flight,
                last,
                reusable_at,
            } => {
                self.has_sent(rung, last, reusable_at);
                let packet = self.packet(dest, flight, body);
                steps.push(Step::Transmit(packet));
                reusable_at.at()
            }
            Posted::Refused { at, status } => {
                self.has_sent(rung, at, at);
                let at = at.at();
                if let Body::Write { operation } | Body::Read { operation } = body {
                    self.finish(at, operation, status, steps);
                }
                at
            }
        }
    }

    /// Hands an operation to a rank of the same node, through the memory that they share.
    fn pass(
        &mut self,
        rung: Picos,
        dest: u32,
        operation: &Operation,
        body: Body,
        steps: &mut Vec<Step>,
    ) -> Picos {
        let copied = match (operation, body) {
            // The program itself has copied it.
            (_, Body::Eager { .. }) => M::new(rung),
            (Operation::Write { bytes, .. }, _) => self.copied(rung, *bytes),
            _ => M::new(rung),
        };
        let seen = copied.after(self.node.latency, Cause::Software);
        let flight = described(operation, self.node.port(dest), seen.at());
        self.has_sent(rung, seen, copied);
        let packet = self.packet(dest, flight, body);
        steps.push(Step::Transmit(packet));
        copied.at()
    }

    /// The end of a copy into shared memory that begins at `at`.
    fn copied(&self, at: Picos, bytes: u64) -> M {
        M::new(at).after(
            self.messages.copy_bandwidth.time_for(bytes),
            Cause::Software,
        )
    }

    fn packet(&mut self, dest: u32, flight: Flight, body: Body) -> Packet {
        debug_assert!(
            flight.kind != FlightKind::Short || flight.departure.first == flight.departure.last
        );
        // Packets of one time are handed over by source and sequence: an order that every process of a run agrees on.
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        Packet {
            source: self.id,
            dest,
            sequence,
            flight,
            body,
        }
    }

    #[inline]
    fn has_sent(&mut self, rung: Picos, last: M, over: M) {
        if M::IS_TRACED {
            self.moments.sent = Some(Sent { rung, last, over });
        }
    }

    fn new_request(&mut self) -> Request {
        if M::IS_TRACED {
            self.moments = Moments::default();
        }
        let request = Request(self.next_request);
        self.next_request += 1;
        request
    }

    /// The program is busy for `span` from `at` on; returns when it is done.
    fn busy_for(&mut self, at: Picos, span: Picos) -> Picos {
        self.busy_until = at + span;
        self.busy_until
    }
}

/// Copy buffers lie at known physical addresses, on pages of their own.
const COPY_BUFFER: Place = Place {
    address: 0,
    key: MemoryKey::Physical,
};

fn places(rma: &Rma) -> (Place, Place) {
    let local = Place {
        address: rma.address,
        key: MemoryKey::Trusted,
    };
    let remote = Place {
        address: rma.remote_address,
        key: MemoryKey::Registered(rma.key),
    };
    (local, remote)
}

fn received(is_truncated: bool) -> Status {
    if is_truncated {
        Status::Truncated
    } else {
        Status::Success
    }
}
