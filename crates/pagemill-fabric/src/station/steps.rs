//! Carrying out what the simulated interface says.

use pagemill_sim::nic::{Body, Completion, Packet, Request, Status, Step};

use crate::counters::Counter;

use super::frame::Frame;
use super::{Outcome, Ready, Station, key_of};

impl Station {
    /// Gives the interface a packet, with its payload.
    pub(super) fn take_frame(&mut self, frame: Frame) {
        let packet = frame.packet;
        self.payloads.keep(&packet, frame.data, frame.payload);
        let mut steps = std::mem::take(&mut self.steps);
        self.rank.arrive(&packet, &mut steps);
        self.take_steps(&mut steps);
        self.steps = steps;
        if matches!(packet.body, Body::Write { .. } | Body::ReadData { .. }) {
            // Stored or delivered by now, or refused.
            self.payloads.forget(packet.message());
        }
    }

    pub(super) fn take_steps(&mut self, steps: &mut Vec<Step>) {
        for step in steps.drain(..) {
            match step {
                Step::Transmit(packet) => self.transmit(packet),
                Step::Deliver {
                    request,
                    message,
                    bytes,
                } => {
                    if let Some((data, payload)) = self.payloads.take(message) {
                        self.requests
                            .fill(request, data, &payload, bytes, self.memory.as_mut());
                    }
                }
                Step::Store {
                    address,
                    message,
                    bytes,
                    ..
                } => {
                    let real = self.addresses.real_of(address, bytes);
                    if let (Some(real), Some((_, payload))) = (real, self.payloads.take(message)) {
                        let bytes = payload.len().min(bytes as usize);
                        self.memory.store(real, &payload[..bytes]);
                    }
                }
                Step::Complete {
                    request,
                    at,
                    cost,
                    completion,
                } => self.complete(request, at.0, cost.0, &completion),
            }
        }
    }

    fn transmit(&mut self, packet: Packet) {
        let reply_ps = packet.key().0.0.saturating_add(self.lookahead_ps);
        self.horizon_ps = self.horizon_ps.min(reply_ps);
        let frame = Frame {
            packet,
            data: self.data_of(&packet),
            payload: self.payload_of(&packet),
        };
        if packet.dest == self.index {
            self.inbox.insert(key_of(&packet), frame);
        } else {
            self.wires.send(frame);
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

    fn complete(&mut self, request: Request, at_ps: u64, cost_ps: u64, completion: &Completion) {
        if !matches!(completion.status, Status::Success | Status::Canceled) {
            self.counters.add(Counter::ErrorCompletions, 1);
        }
        if let Some((done, open)) = self.requests.finish(request, Outcome::of(completion)) {
            self.addresses
                .give_back(open.simulated, open.buffer.bytes() as u64);
            self.ready
                .insert((at_ps, request.0), Ready { done, cost_ps });
        }
    }
}
