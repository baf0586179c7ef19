//! The switches between interfaces: messages share links, in parts, first come first served.
//!
//! A transfer is cut into parts, each with a route of its own. A link passes a part's head on at once and is busy for as long as
//! the part takes at its rate; buffers are unbounded, so a part waits where its link is busy and blocks nothing
//! behind it that goes elsewhere. The link from a node into the network is the interface's own and is not timed here.

mod events;
mod transfer;

use std::sync::Arc;

use pagemill_policy::routing::{Flow, Topology};
use pagemill_types::Picos;

use self::events::{Event, Events};
use self::transfer::Transfer;
use super::descriptor::{Departure, FlightKind, Part};
use super::machine::{NetworkSpec, NicMachine};
use super::packet::Packet;
use super::slab::Slab;
use pagemill_pages::SpecError;

/// All links with a clock, and the transfers on them.
#[derive(Debug)]
pub(super) struct Network {
    machine: Arc<NicMachine>,
    spec: NetworkSpec,
    topology: Box<dyn Topology>,
    links: Vec<Link>,
    transfers: Slab<Transfer>,
    moving: Slab<Moving>,
    /// Routes of parts that have arrived: their room is used again.
    spare_routes: Vec<Vec<u32>>,
    events: Events,
    counts: NetworkCounts,
}

/// One direction of a cable and the port of the switch behind which it starts.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    free_at: Picos,
    busy: Picos,
}

/// A part on its way.
#[derive(Debug)]
struct Moving {
    /// The place of its transfer.
    transfer: u32,
    index: u32,
    /// Links in order.
    route: Vec<u32>,
}

/// What the links counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkCounts {
    /// Parts that passed a link.
    pub passed: u64,
    /// How long they waited for it, in all.
    pub waited: Picos,
    /// Time for which the busiest link was busy.
    pub busiest: Picos,
}

/// A part at its receiver's interface.
pub(super) struct Delivery {
    pub packet: Packet,
    pub part: Part,
}

impl Network {
    /// The idle network of `machine`; `None` where its wire joins any two nodes.
    ///
    /// # Errors
    /// There are more ranks than nodes.
    pub fn of(machine: &Arc<NicMachine>, ranks: usize) -> Result<Option<Self>, SpecError> {
        let Some(spec) = machine.network.clone() else {
            return Ok(None);
        };
        let topology = spec.build()?;
        if ranks as u64 > u64::from(topology.nodes()) {
            let given = format!("{} nodes", topology.nodes());
            return Err(SpecError::new(
                "network.topology",
                given,
                format!("it has to have a node for each of {ranks} ranks"),
            ));
        }
        Ok(Some(Self {
            machine: Arc::clone(machine),
            links: vec![Link::default(); topology.links() as usize],
            topology,
            spec,
            transfers: Slab::default(),
            moving: Slab::default(),
            spare_routes: Vec::new(),
            events: Events::default(),
            counts: NetworkCounts::default(),
        }))
    }

    /// When something happens here next.
    pub fn next_event(&self) -> Option<Picos> {
        self.events.first()
    }

    /// What the links counted so far.
    pub fn counts(&self) -> NetworkCounts {
        NetworkCounts {
            busiest: self
                .links
                .iter()
                .map(|link| link.busy)
                .max()
                .unwrap_or_default(),
            ..self.counts
        }
    }

    /// Takes a transfer that its interface sends; returns when its head is at the first link.
    pub fn enter(&mut self, packet: &Packet) -> Picos {
        let wire = &self.machine.wire;
        let sent = Picos(packet.flight.departure.first.0 - wire.flight().0);
        let entered = sent + half(wire.latency) + wire.hop_latency;
        let transfer = Transfer::new(packet, entered, self.spec.part_bytes, &self.machine);
        let place = self.transfers.insert(transfer);
        self.enter_part(place, 0);
        entered
    }

    /// Part `index` of the transfer at `place` is at its first link.
    fn enter_part(&mut self, place: u32, index: u32) {
        let transfer = self.transfers.get(place);
        let packet = transfer.packet;
        let at = transfer.head(index);
        let route = self.route(&packet, index, at);
        let moving = self.moving.insert(Moving {
            transfer: place,
            index,
            route,
        });
        self.events.push(Event::new(at, &packet, index, moving));
    }

    /// The links that part `index` of `packet`, which enters at `now`, passes.
    fn route(&mut self, packet: &Packet, index: u32, now: Picos) -> Vec<u32> {
        let mut route = self.spare_routes.pop().unwrap_or_default();
        let flow = Flow {
            from: packet.source,
            to: packet.dest,
            number: packet.sequence.wrapping_add(u64::from(index) << 40),
        };
        let waiting = |link: u32| self.links[link as usize].free_at.saturating_since(now).0;
        let pass = self.machine.wire.hop_latency + self.spec.cable_latency;
        let topology = self.topology.as_ref();
        self.spec
            .routing
            .choose_into(topology, flow, waiting, pass.0, &mut route);
        route
    }

    /// Carries the next part over its next link; returns it when that was the last one.
    pub fn step(&mut self) -> Option<Delivery> {
        let event = self.events.pop()?;
        let moving = self.moving.get(event.place);
        let (place, index, hop) = (moving.transfer, moving.index, event.hop as usize);
        let (link, is_last_link) = (moving.route[hop], hop + 1 == moving.route.len());
        let busy = self.busy(place, index, is_last_link);
        let start = self.pass(link, event.at, busy);
        if hop == 0 && index + 1 < self.transfers.get(place).parts {
            self.enter_part(place, index + 1);
        }
        if is_last_link {
            return Some(self.deliver(event.place, start));
        }
        let at = start + self.spec.cable_latency + self.machine.wire.hop_latency;
        self.events.push(event.at_next_hop(at));
        None
    }

    /// Books `link` for `busy` from `at` on; returns when that begins.
    fn pass(&mut self, link: u32, at: Picos, busy: Picos) -> Picos {
        let link = &mut self.links[link as usize];
        let start = at.max(link.free_at);
        link.free_at = start + busy;
        link.busy += busy;
        self.counts.passed += 1;
        self.counts.waited += start - at;
        start
    }

    /// How long part `index` of the transfer at `place` occupies a link.
    fn busy(&self, place: u32, index: u32, is_last_link: bool) -> Picos {
        let wire = &self.machine.wire;
        let transfer = self.transfers.get(place);
        let bytes = match transfer.packet.flight.kind {
            FlightKind::ReadRequest => u64::from(self.machine.engine.descriptor_bytes),
            _ => transfer.extent(index).1,
        };
        let rate = if is_last_link {
            wire.bandwidth
        } else {
            self.spec.bandwidth
        };
        rate.time_for(wire.wire_bytes(bytes))
    }

    /// The part at `place`, whose head leaves its last switch at `start`, at the interface.
    fn deliver(&mut self, place: u32, start: Picos) -> Delivery {
        let moving = self.moving.remove(place);
        self.spare_routes.push(moving.route);
        let transfer = self.transfers.get_mut(moving.transfer);
        transfer.arrived += 1;
        let (offset, bytes) = transfer.extent(moving.index);
        let wire = &self.machine.wire;
        let first = start + Picos(wire.latency.0 - half(wire.latency).0);
        // Segments follow each other as fast as they were sent, or as the last link lets them.
        let rest = bytes - transfer.segment_bytes.min(bytes);
        let spread = if rest == 0 {
            Picos::ZERO
        } else {
            wire.bandwidth
                .time_for(wire.wire_bytes(rest))
                .max(transfer.spread(rest))
        };
        let delivery = Delivery {
            packet: transfer.packet,
            part: Part {
                offset,
                bytes,
                is_last: transfer.arrived == transfer.parts,
                departure: Departure {
                    first,
                    last: first + spread,
                },
            },
        };
        if delivery.part.is_last {
            self.transfers.remove(moving.transfer);
        }
        delivery
    }
}

/// The part of the wire's latency before the first switch.
fn half(latency: Picos) -> Picos {
    Picos(latency.0 / 2)
}
