//! Carrying out what the simulated interface says.

use pagemill_nic::{Body, Cause, Completion, Moment, Packet, Request, Sent, Status, Step, Traced};

use crate::counters::Counter;
use crate::events::What;

use super::frame::Frame;
use super::trail::Trail;
use super::{Outcome, Ready, Station, key_of};

impl Station {
    /// Gives the interface a packet, with its payload.
    pub(super) fn take_frame(&mut self, frame: Frame) {
        let packet = frame.packet;
        let mut steps = std::mem::take(&mut self.steps);
        self.rank.arrive(&packet, &mut steps);
        self.share_calls(self.asked_ps);
        let mut trail = frame.trail;
        if let Some(way) = &self.rank.moments().arrived {
            trail.arrive(way);
        }
        self.payloads
            .keep(&packet, frame.data, frame.payload, trail);
        self.take_steps(&mut steps, &trail);
        self.steps = steps;
        if matches!(packet.body, Body::Write { .. } | Body::ReadData { .. }) {
            // Stored or delivered by now, or refused.
            self.payloads.forget(packet.message());
        }
        self.check_if_due();
    }

    /// Carries out `steps`, which start where `trail` ends.
    pub(super) fn take_steps(&mut self, steps: &mut Vec<Step>, trail: &Trail) {
        let sent = self.rank.moments().sent;
        for step in steps.drain(..) {
            match step {
                Step::Transmit(packet) => {
                    let way = self.way_of(&packet, trail, sent.as_ref());
                    self.transmit(packet, way);
                }
                Step::Deliver {
                    request,
                    message,
                    bytes,
                } => {
                    if let Some(stored) = self.payloads.take(message) {
                        if let (Some(events), trail) = (&mut self.events, &stored.2) {
                            let source = message.source;
                            let what = What::Message { source };
                            events.add(what, trail.start_ps(), trail.end_ps(), bytes);
                        }
                        self.requests
                            .fill(request, stored, bytes, self.memory.as_mut());
                    }
                }
                Step::Store {
                    address,
                    message,
                    bytes,
                    ..
                } => {
                    let real = self.addresses.real_of(address, bytes);
                    if let (Some(real), Some((_, payload, _))) = (real, self.payloads.take(message))
                    {
                        let bytes = payload.len().min(bytes as usize);
                        self.memory.store(real, &payload[..bytes]);
                    }
                }
                Step::Complete {
                    request,
                    at,
                    cost,
                    completion,
                } => {
                    let ready = (at.0, request, cost.0);
                    self.complete(ready, &completion, &way_over(at.0, trail, sent.as_ref()));
                }
            }
        }
    }

    /// The way of a packet until it arrives.
    fn way_of(&self, packet: &Packet, trail: &Trail, sent: Option<&Sent<Traced>>) -> Trail {
        let mut way = *trail;
        if let Body::Clear { send, .. } = packet.body
            && let Some(announced) = self.payloads.announced(packet.dest, send)
        {
            // Since then, the sender has waited for this receive.
            way = announced;
            way.go_on(trail.end_ps(), Cause::Partner);
        }
        if let Some(sent) = sent {
            way.leave(sent.rung.0, &sent.last);
        }
        way
    }

    fn transmit(&mut self, packet: Packet, trail: Trail) {
        let is_mate = self.node.is_shared() && self.node.mates(self.index).contains(&packet.dest);
        let lookahead_ps = if is_mate { 0 } else { self.lookahead_ps };
        let reply_ps = packet.key().0.0.saturating_add(lookahead_ps);
        self.horizon_ps = self.horizon_ps.min(reply_ps);
        let frame = Frame {
            packet,
            data: self.data_of(&packet),
            payload: self.payload_of(&packet),
            trail,
        };
        if packet.dest == self.index {
            self.inbox.insert(key_of(&packet), frame);
        } else {
            self.rings.send(frame);
        }
    }

    fn data_of(&self, packet: &Packet) -> Option<u64> {
        match packet.body {
            Body::Data { send, .. } | Body::Announce { send, .. } => self.requests.data(send),
            Body::Eager { .. } => self.requests.latest_data(),
            _ => None,
        }
    }

    /// The bytes that travel with a packet of ours.
    fn payload_of(&self, packet: &Packet) -> Vec<u8> {
        let memory = self.memory.as_ref();
        let bytes = packet.payload_bytes() as usize;
        let mut payload = match packet.body {
            _ if bytes == 0 => Vec::new(),
            Body::Eager { .. } => self.requests.latest_buffer().load(memory),
            Body::Data { send, .. } => self.requests.buffer(send).load(memory),
            Body::Write { operation } => self.requests.buffer(operation).load(memory),
            Body::ReadData { .. } => {
                let mut payload = Vec::new();
                if let Some(real) = self
                    .addresses
                    .real_of(packet.flight.from.address, bytes as u64)
                {
                    memory.load(real, bytes, &mut payload);
                }
                payload
            }
            _ => Vec::new(),
        };
        // A receiver with a shorter buffer asks for less than the message.
        payload.truncate(bytes);
        payload
    }

    /// An operation is over, seen at a time and for a cost; without a message that ended it, it was over by the way `own`.
    fn complete(
        &mut self,
        (at_ps, request, cost_ps): (u64, Request, u64),
        completion: &Completion,
        own: &Trail,
    ) {
        if !matches!(completion.status, Status::Success | Status::Canceled) {
            self.counters.add(Counter::ErrorCompletions, 1);
        }
        if let Some((done, open)) = self.requests.finish(request, Outcome::of(completion)) {
            self.addresses
                .give_back(open.simulated, open.buffer.bytes() as u64);
            let ready = Ready {
                done,
                cost_ps,
                trail: open.trail.unwrap_or(*own),
            };
            self.ready.insert((at_ps, request.0), ready);
        }
    }
}

/// The way to the end of an operation at `at_ps`: by what the interface did for what was sent, or by what arrived.
fn way_over(at_ps: u64, trail: &Trail, sent: Option<&Sent<Traced>>) -> Trail {
    let mut way = *trail;
    if let Some(sent) = sent.filter(|sent| sent.over.at().0 == at_ps) {
        way.leave(sent.rung.0, &sent.over);
    }
    way
}
