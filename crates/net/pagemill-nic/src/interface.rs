//! One network interface: what it sends at a time, and what becomes of what arrives.

use std::sync::Arc;

use pagemill_types::Picos;

use super::ahead::Ahead;
use super::att::{FetchLatencies, Side, TranslationUnit};
use super::counts::{NicCounts, TranslationCounts};
use super::descriptor::{
    Arrived, Departure, Flight, FlightKind, Key, Lane, MemoryKey, Operation, Part, Place, PortId,
    Post, Posted, Status,
};
use super::host_path::HostPath;
use super::machine::{DescriptorPath, NicMachine};
use super::moment::{Cause, Moment};
use super::region::Regions;
use super::split::Segments;
use super::vport::Ports;
use super::wire::Lanes;
use pagemill_pages::SpecError;
use pagemill_pages::parts::ports::Port;

/// A network interface with its half of the wire and its way to memory.
///
/// [`Nic::post`] and [`Nic::arrive`] together are asked in non-decreasing time; flights that arrive are handed over in the
/// order of their first bits.
#[derive(Debug)]
pub struct Nic {
    machine: Arc<NicMachine>,
    ports: Ports,
    regions: Regions,
    host: HostPath,
    pub(super) translation: TranslationUnit,
    mp_engine: Port,
    rdma_engine: Port,
    transmit: Lanes,
    receive: Lanes,
    /// Time of a whole segment on the wire.
    segment_busy: Picos,
    counts: NicCounts,
    recent: Recent,
}

/// Data on its way out: heads of its segments at the other side, and when memory was read.
struct Stream<M> {
    first: Picos,
    last: M,
    read_done: M,
}

impl Nic {
    /// An idle interface.
    ///
    /// # Errors
    /// A value of the machine is impossible.
    pub fn new(machine: &NicMachine) -> Result<Self, SpecError> {
        machine.check()?;
        Self::of_checked(&Arc::new(machine.clone()))
    }

    /// As [`Nic::new`], of a machine that was checked; many interfaces share it.
    pub(super) fn of_checked(machine: &Arc<NicMachine>) -> Result<Self, SpecError> {
        let segment_bytes = u64::from(machine.engine.segment_bytes);
        let host = HostPath::new(&machine.host, &machine.data_path(), segment_bytes);
        let reading = |bytes: u32| host.read_small(Picos::ZERO, u64::from(bytes));
        let latencies = FetchLatencies {
            group: reading(machine.att.layout.group_bytes()),
            key: reading(machine.table.keys.map_or(0, |keys| keys.entry_bytes)),
        };
        Ok(Self {
            ports: Ports::new(&machine.ports),
            regions: Regions::default(),
            translation: TranslationUnit::new(&machine.att, &machine.table, latencies)?,
            host,
            mp_engine: Port::default(),
            rdma_engine: Port::default(),
            transmit: Lanes::default(),
            receive: Lanes::default(),
            segment_busy: machine
                .wire
                .bandwidth
                .time_for(machine.wire.wire_bytes(segment_bytes)),
            counts: NicCounts::default(),
            machine: Arc::clone(machine),
            recent: Recent::default(),
        })
    }

    /// What it is made of.
    pub fn machine(&self) -> &NicMachine {
        &self.machine
    }

    /// What it counted so far.
    pub fn counts(&self) -> NicCounts {
        NicCounts {
            translation: self.translation.counts,
            card_bytes: self.translation.card_bytes(self.regions.bytes()),
            ..self.counts
        }
    }

    /// Opens a port for `process`; `None` when all are open.
    pub fn open_port(&mut self, process: u64) -> Option<PortId> {
        self.ports.open(process)
    }

    /// Closes `port`; returns whether it was open.
    pub fn close_port(&mut self, port: PortId) -> bool {
        self.ports.close(port)
    }

    /// Lets the interface access `bytes` bytes at `address` for `port`.
    pub fn register(&mut self, port: PortId, address: u64, bytes: u64) -> Key {
        self.regions.register(port, address, bytes)
    }

    /// Takes a registration back: its entries leave the cache, its key is refused from now on. Returns whether there was one.
    pub fn deregister(&mut self, key: Key) -> bool {
        self.take_back(key).is_some()
    }

    /// As [`Nic::deregister`]; returns what was registered.
    pub(super) fn take_back(&mut self, key: Key) -> Option<(PortId, u64, u64)> {
        let region = self.regions.deregister(key)?;
        self.forget(region);
        Some(region)
    }

    /// The entries of a region leave the cache.
    pub(super) fn forget(&mut self, (port, address, bytes): (PortId, u64, u64)) {
        self.translation.invalidate(port, address, bytes);
    }

    /// What it counted, to put it back.
    pub(super) fn save_counts(&self) -> (NicCounts, TranslationCounts) {
        (self.counts, self.translation.counts)
    }

    /// Takes back what was counted since.
    pub(super) fn restore_counts(&mut self, counts: (NicCounts, TranslationCounts)) {
        (self.counts, self.translation.counts) = counts;
    }

    /// Is idle again, its cache empty; ports, registrations and counts stay.
    ///
    /// # Errors
    /// A value of the machine is impossible.
    pub(super) fn restart(&mut self) -> Result<(), SpecError> {
        let mut fresh = Self::of_checked(&self.machine)?;
        std::mem::swap(&mut fresh.ports, &mut self.ports);
        std::mem::swap(&mut fresh.regions, &mut self.regions);
        fresh.restore_counts(self.save_counts());
        *self = fresh;
        Ok(())
    }

    /// Takes a descriptor whose doorbell the processor rings at `at`.
    pub fn post<M: Moment>(&mut self, at: M, post: &Post) -> Posted<M> {
        let rung = at.after(self.machine.host.pio_latency, Cause::Interface);
        if let Err(status) = self.check_local(post) {
            self.counts.refused.add(status);
            let known = rung.after(self.machine.engine.send_latency, Cause::Interface);
            let entry = self.write_completion(known, Lane::Message);
            return Posted::Refused { at: entry, status };
        }
        let ready = self.port_state(rung, post.port);
        let posted = match post.operation {
            Operation::Short { bytes } => self.send_short(ready, post, bytes),
            Operation::Write {
                local,
                remote,
                bytes,
                lane,
            } => {
                let start = self.start_rdma(ready);
                self.stream(
                    start,
                    post.port,
                    post.target_port,
                    FlightKind::Write,
                    lane,
                    (local, remote),
                    bytes,
                )
            }
            Operation::Read {
                local,
                remote,
                bytes,
            } => self.ask(ready, post, local, remote, bytes),
        };
        self.counts.sent += 1;
        posted
    }

    /// Accesses `bytes` at `place` of `port` for a descriptor that is there at `at`, and nothing crosses the wire; returns when the engine
    /// takes it and when its data is here, or on the way to memory.
    pub(super) fn access(
        &mut self,
        at: Picos,
        port: PortId,
        place: Place,
        bytes: u64,
        is_write: bool,
    ) -> (Picos, Picos) {
        let started = (self.rdma_engine).book(at, self.machine.engine.rdma_gap);
        let side = if is_write { Side::Receive } else { Side::Send };
        let mut walk =
            (self.translation).walk(side, port, place.address, bytes, key_number(place.key));
        let (mut asked, mut own) = (started, None);
        for segment in self.segments(place, place, bytes) {
            let known = (self.translation).translate(asked, &mut walk, segment.from);
            let done = match is_write {
                true => self.host.write(known, segment.bytes, Lane::Bulk, own),
                false => {
                    let read = self.host.read(known, segment.bytes, Lane::Bulk, own);
                    asked = read.asked_at;
                    read.done
                }
            };
            own = Some(done);
        }
        self.counts.sent += 1;
        self.counts.sent_bytes += bytes;
        (started, own.unwrap_or(started))
    }

    /// Sends the data that the read request `request` asked for; it arrived at `at` and was accepted. Returns with it when the
    /// head of its last segment arrives.
    pub fn answer<M: Moment>(&mut self, at: M, request: &Flight, back_to: PortId) -> (Flight, M) {
        let gap = self.machine.engine.rdma_gap;
        let start = at.taken(self.rdma_engine.book(at.at(), gap), None);
        let places = (request.from, request.to);
        let posted = self.stream(
            start,
            request.port,
            back_to,
            FlightKind::ReadData,
            Lane::Bulk,
            places,
            request.bytes,
        );
        self.counts.sent += 1;
        match posted {
            Posted::Sent { flight, last, .. } => (flight, last),
            Posted::Refused { .. } => {
                unreachable!("a stream is never refused: it was checked on arrival")
            }
        }
    }

    /// Reports to the other side, at `at`, how its operation ended. Returns with it when it arrives.
    pub fn acknowledge<M: Moment>(&mut self, at: M, target_port: PortId) -> (Flight, M) {
        let head = self.inject(at, Lane::Message, 0, &mut None);
        self.counts.sent += 1;
        let flight = short_flight(FlightKind::Short, target_port, 0, head.at());
        (flight, head)
    }

    fn check_local(&self, post: &Post) -> Result<(), Status> {
        self.ports.check(post.port, post.process)?;
        match post.operation {
            Operation::Short { .. } => Ok(()),
            Operation::Write { local, bytes, .. } | Operation::Read { local, bytes, .. } => {
                self.check_place(local, post.port, bytes)
            }
        }
    }

    fn check_place(&self, place: Place, port: PortId, bytes: u64) -> Result<(), Status> {
        match place.key {
            MemoryKey::Registered(key) => self.regions.check(key, port, place.address, bytes),
            MemoryKey::Trusted | MemoryKey::Physical => Ok(()),
        }
    }

    /// When the state of `port` is on the chip.
    #[inline]
    fn port_state<M: Moment>(&mut self, at: M, port: PortId) -> M {
        if self.ports.touch(port) {
            return at;
        }
        self.counts.port_misses += 1;
        let bytes = u64::from(self.machine.engine.descriptor_bytes);
        at.until(self.host.read_small(at.at(), bytes), Cause::Port)
    }

    /// When a descriptor with `bytes` bytes of data in it is at the engine.
    #[inline]
    fn descriptor<M: Moment>(&mut self, at: M, bytes: u64) -> M {
        let bytes = u64::from(self.machine.engine.descriptor_bytes) + bytes;
        let host = &self.machine.host;
        let here = match self.machine.engine.descriptors {
            DescriptorPath::Pushed => {
                let time = |bytes| host.from_memory.time_for(host.read_bytes(bytes));
                at.at() + self.recent.descriptor.get(bytes, time)
            }
            DescriptorPath::Fetched => self.host.read_small(at.at(), bytes),
        };
        at.until(here, Cause::Interface)
    }

    fn start_rdma<M: Moment>(&mut self, at: M) -> M {
        let descriptor = self.descriptor(at, 0);
        let gap = self.machine.engine.rdma_gap;
        let start = self.rdma_engine.book(descriptor.at(), gap);
        (descriptor.taken(start, None)).after(self.machine.engine.send_latency, Cause::Interface)
    }

    fn send_short<M: Moment>(&mut self, at: M, post: &Post, bytes: u32) -> Posted<M> {
        let bytes = u64::from(bytes);
        let descriptor = self.descriptor(at, bytes);
        let start = (self.mp_engine).book(descriptor.at(), self.machine.engine.mp_gap);
        let sent = (descriptor.taken(start, None))
            .after(self.machine.engine.send_latency, Cause::Interface);
        let last = self.inject(sent, Lane::Message, bytes, &mut None);
        self.counts.sent_bytes += bytes;
        Posted::Sent {
            flight: short_flight(FlightKind::Short, post.target_port, bytes, last.at()),
            last,
            reusable_at: at,
        }
    }

    fn ask<M: Moment>(
        &mut self,
        at: M,
        post: &Post,
        local: Place,
        remote: Place,
        bytes: u64,
    ) -> Posted<M> {
        let start = self.start_rdma(at);
        let request_bytes = u64::from(self.machine.engine.descriptor_bytes);
        let last = self.inject(start, Lane::Message, request_bytes, &mut None);
        let flight = Flight {
            from: remote,
            to: local,
            ..short_flight(FlightKind::ReadRequest, post.target_port, bytes, last.at())
        };
        Posted::Sent {
            flight,
            last,
            reusable_at: start,
        }
    }

    /// Puts `bytes` on the wire at `at`; returns when their head is at the other side. `own` is the end of what the same transfer
    /// last put there.
    #[inline]
    fn inject<M: Moment>(&mut self, at: M, lane: Lane, bytes: u64, own: &mut Option<M>) -> M {
        let busy = self.wire_time(bytes);
        let start = self.transmit.book(at.at(), lane, busy, self.segment_busy);
        let begun = at.taken(start, *own);
        *own = Some(begun.after(busy, Cause::Wire));
        begun.after(self.machine.wire.flight(), Cause::Wire)
    }

    /// How long `bytes` occupy the wire.
    #[inline]
    fn wire_time(&mut self, bytes: u64) -> Picos {
        let wire = &self.machine.wire;
        self.recent.wire.get(bytes, |bytes| {
            wire.bandwidth.time_for(wire.wire_bytes(bytes))
        })
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a descriptor")]
    fn stream<M: Moment>(
        &mut self,
        at: M,
        port: PortId,
        target_port: PortId,
        kind: FlightKind,
        lane: Lane,
        (local, remote): (Place, Place),
        bytes: u64,
    ) -> Posted<M> {
        let stream = self.read_and_send(at, port, lane, local, remote, bytes);
        self.counts.sent_bytes += bytes;
        let flight = Flight {
            kind,
            lane,
            port: target_port,
            bytes,
            from: local,
            to: remote,
            departure: Departure {
                first: stream.first,
                last: stream.last.at(),
            },
        };
        Posted::Sent {
            flight,
            last: stream.last,
            reusable_at: stream.read_done,
        }
    }

    /// Translates, reads and sends segment after segment. A segment is asked for as soon as the one before was.
    fn read_and_send<M: Moment>(
        &mut self,
        at: M,
        port: PortId,
        lane: Lane,
        local: Place,
        remote: Place,
        bytes: u64,
    ) -> Stream<M> {
        let mut walk = self.translation.walk(
            Side::Send,
            port,
            local.address,
            bytes,
            key_number(local.key),
        );
        let is_translated = local.key != MemoryKey::Physical;
        let mut asked_at = at;
        let mut ahead = (self.machine.engine.translate_ahead)
            .then(|| Ahead::new(at, self.machine.table.fetches_in_flight));
        let mut heads: Option<(Picos, M)> = None;
        let (mut own_read, mut own_wire) = (None, None);
        for segment in self.segments(local, remote, bytes) {
            match &mut ahead {
                _ if !is_translated => {}
                Some(ahead) => {
                    let known = (self.translation).translate(ahead.next(), &mut walk, segment.from);
                    asked_at = asked_at.later(known);
                }
                None => {
                    asked_at = self.host.admit(asked_at, segment.bytes, lane, own_read);
                    asked_at = (self.translation).translate(asked_at, &mut walk, segment.from);
                }
            }
            let read = self.host.read(asked_at, segment.bytes, lane, own_read);
            (asked_at, own_read) = (read.asked_at, Some(read.done));
            if let Some(ahead) = &mut ahead {
                ahead.has_read(asked_at);
            }
            let head = self.inject(read.done, lane, segment.bytes, &mut own_wire);
            heads = Some((heads.map_or(head.at(), |(first, _)| first), head));
        }
        let (first, last) = heads.unwrap_or_else(|| {
            let head = self.inject(at, lane, 0, &mut None);
            (head.at(), head)
        });
        Stream {
            first,
            last,
            read_done: own_read.unwrap_or(at),
        }
    }

    fn segments(&self, from: Place, to: Place, bytes: u64) -> Segments {
        let page_bytes = self.machine.att.layout.page.bytes();
        Segments::new(
            from.address,
            to.address,
            bytes,
            self.machine.engine.segment_bytes,
            page_bytes,
        )
    }

    /// Takes what arrives.
    pub fn arrive(&mut self, flight: &Flight) -> Arrived {
        self.take(flight)
    }

    /// As [`Nic::arrive`].
    pub(super) fn take<M: Moment>(&mut self, flight: &Flight) -> Arrived<M> {
        self.arrive_last(flight, &Part::whole(flight), self.check_flight(flight))
    }

    /// Takes a part of `flight`; says how the transfer ended when that was the last one.
    pub(super) fn take_part<M: Moment>(
        &mut self,
        flight: &Flight,
        part: &Part,
    ) -> Option<Arrived<M>> {
        if part.is_last {
            return Some(self.arrive_last(flight, part, self.check_flight(flight)));
        }
        if self.check_flight(flight).is_ok() {
            let state = self.port_state(M::new(part.departure.first), flight.port);
            self.receive_and_write(flight, part, state);
        }
        None
    }

    pub(super) fn arrive_last<M: Moment>(
        &mut self,
        flight: &Flight,
        part: &Part,
        checked: Result<(), Status>,
    ) -> Arrived<M> {
        let receive_latency = self.machine.engine.receive_latency;
        if let Err(status) = checked {
            self.counts.rejected.add(status);
            let here: M = self.drain(flight, part);
            let done_at = here.after(receive_latency, Cause::Interface);
            return Arrived { done_at, status };
        }
        let state = self.port_state(M::new(part.departure.first), flight.port);
        self.counts.received += 1;
        self.counts.received_bytes += flight.payload_bytes();
        let done_at = match flight.kind {
            FlightKind::ReadRequest => {
                let here = self.drain::<M>(flight, part).later(state);
                here.after(receive_latency, Cause::Interface)
            }
            FlightKind::Short => {
                let here = self.drain::<M>(flight, part).later(state);
                let here = here.after(receive_latency, Cause::Interface);
                // Data and completion entry go to the port's queue in one write.
                let bytes = flight.bytes + u64::from(self.machine.engine.completion_bytes);
                let written = self.host.write(here, bytes, Lane::Message, None);
                written.after(self.machine.host.write_latency, Cause::Interface)
            }
            FlightKind::Write | FlightKind::ReadData => {
                let written = self.receive_and_write(flight, part, state);
                self.write_completion(written, flight.lane)
            }
        };
        Arrived {
            done_at,
            status: Status::Success,
        }
    }

    /// Whether a transfer may do what it is for.
    pub(super) fn check_flight(&self, flight: &Flight) -> Result<(), Status> {
        if !self.ports.is_open(flight.port) {
            return Err(Status::ForeignPort);
        }
        match flight.kind {
            FlightKind::Short => Ok(()),
            FlightKind::ReadRequest => self.check_place(flight.from, flight.port, flight.bytes),
            FlightKind::Write => self.check_place(flight.to, flight.port, flight.bytes),
            // Checked when it was asked for; it may have been taken back meanwhile.
            FlightKind::ReadData => self.check_place(flight.to, flight.port, flight.bytes),
        }
    }

    /// Takes a part off the wire without writing it; returns when the last bit is here.
    fn drain<M: Moment>(&mut self, flight: &Flight, part: &Part) -> M {
        let bytes = match flight.kind {
            FlightKind::ReadRequest => u64::from(self.machine.engine.descriptor_bytes),
            _ => part.bytes,
        };
        let head = M::new(part.departure.first);
        self.eject(head, flight.lane, bytes, None)
            .later(M::new(part.departure.last))
    }

    /// Takes `bytes`, whose head is here at `head`, off the wire; returns when the last bit is here. `own` is the end of what the
    /// same transfer last had there.
    #[inline]
    fn eject<M: Moment>(&mut self, head: M, lane: Lane, bytes: u64, own: Option<M>) -> M {
        let busy = self.wire_time(bytes);
        if self.machine.network.is_some() {
            // The last switch has already put messages of different nodes one behind another.
            return head.after(busy, Cause::Wire);
        }
        let start = self.receive.book(head.at(), lane, busy, self.segment_busy);
        head.taken(start, own).after(busy, Cause::Wire)
    }

    /// Translates and writes segment after segment of a part; returns when the last byte is on its way to memory.
    fn receive_and_write<M: Moment>(&mut self, flight: &Flight, part: &Part, state: M) -> M {
        let (from, to) = (flight.from.after(part.offset), flight.to.after(part.offset));
        // What is prefetched for a part may reach into those that follow.
        let left = flight.bytes - part.offset;
        let mut walk = self.translation.walk(
            Side::Receive,
            flight.port,
            to.address,
            left,
            key_number(to.key),
        );
        let is_translated = to.key != MemoryKey::Physical;
        let segments = self.segments(from, to, part.bytes);
        let departure = part.departure;
        let intervals = if departure.first == departure.last {
            1
        } else {
            segments.count().saturating_sub(1).max(1) as u64
        };
        let span = departure.last - departure.first;
        let (mut known_at, mut written) = (state, state);
        let (mut own_wire, mut own_write) = (None, None);
        for (index, segment) in segments.enumerate() {
            let head = M::new(departure.first + Picos(scale(span.0, index as u64, intervals)));
            let here = self.eject(head, flight.lane, segment.bytes, own_wire);
            own_wire = Some(here);
            if is_translated {
                // The address is in the header: translation goes on while the data arrives.
                known_at = match self.machine.engine.translate_ahead {
                    true => {
                        known_at.later((self.translation).translate(head, &mut walk, segment.to))
                    }
                    false => {
                        let asked_at = head.later(known_at);
                        (self.translation).translate(asked_at, &mut walk, segment.to)
                    }
                };
            }
            let ready =
                (here.later(known_at)).after(self.machine.engine.receive_latency, Cause::Interface);
            written = (self.host).write(ready, segment.bytes, flight.lane, own_write);
            own_write = Some(written);
        }
        written.later(M::new(departure.last))
    }

    /// Writes a completion entry from `at` on, behind the data of its lane; returns when the processor sees it.
    fn write_completion<M: Moment>(&mut self, at: M, lane: Lane) -> M {
        let bytes = u64::from(self.machine.engine.completion_bytes);
        let written = self.host.write(at, bytes, lane, None);
        written.after(self.machine.host.write_latency, Cause::Interface)
    }
}

/// A transfer without data for memory: all of it arrives at `head`.
fn short_flight(kind: FlightKind, port: PortId, bytes: u64, head: Picos) -> Flight {
    Flight {
        kind,
        lane: Lane::Message,
        port,
        bytes,
        from: NOWHERE,
        to: NOWHERE,
        departure: Departure {
            first: head,
            last: head,
        },
    }
}

/// Times of the sizes asked for last: programs repeat themselves, and a time takes three divisions.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    wire: Memo,
    descriptor: Memo,
}

/// The last answer of a function of a size.
#[derive(Clone, Copy, Debug, Default)]
struct Memo {
    last: Option<(u64, Picos)>,
}

impl Memo {
    #[inline]
    fn get(&mut self, bytes: u64, time: impl FnOnce(u64) -> Picos) -> Picos {
        match self.last {
            Some((known, span)) if known == bytes => span,
            _ => {
                let span = time(bytes);
                self.last = Some((bytes, span));
                span
            }
        }
    }
}

/// The number of a registration among those whose entries the interface caches. A library has one for all of its buffers.
fn key_number(key: MemoryKey) -> u64 {
    match key {
        MemoryKey::Registered(key) => key.0,
        MemoryKey::Trusted | MemoryKey::Physical => 0,
    }
}

/// What a mini packet has for an address.
const NOWHERE: Place = Place {
    address: 0,
    key: MemoryKey::Physical,
};

/// `span * index / intervals` without overflow.
#[inline]
fn scale(span: u64, index: u64, intervals: u64) -> u64 {
    match span.checked_mul(index) {
        Some(product) => product / intervals,
        None => (u128::from(span) * u128::from(index) / u128::from(intervals)) as u64,
    }
}
