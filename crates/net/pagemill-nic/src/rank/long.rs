//! Messages that wait at the sender until their receive is known: announcement, clearance, data.

use pagemill_types::Picos;

use super::{Pending, Rank, received};
use crate::descriptor::{Lane, MemoryKey, Operation, Place, Status};
use crate::moment::Moment;
use crate::packet::{Body, Completion, Packet, Request, Send, Step};

/// A message that was announced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Announced {
    send: Send,
    /// Bytes of it that are sent.
    sent_bytes: u64,
}

impl Announced {
    pub(super) fn sends_at_most_its_message(&self) -> bool {
        self.sent_bytes <= self.send.bytes
    }
}

/// The receive of an announced message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub tag: u64,
    pub address: u64,
    /// Bytes that fit.
    pub bytes: u64,
    pub is_truncated: bool,
}

impl<M: Moment> Rank<M> {
    /// Announces a message at `rung`.
    pub(super) fn announce(
        &mut self,
        rung: Picos,
        request: Request,
        send: &Send,
        steps: &mut Vec<Step>,
    ) {
        let announced = Announced {
            send: *send,
            sent_bytes: 0,
        };
        self.pending.insert(request, Pending::Send(announced));
        let body = Body::Announce {
            tag: send.tag,
            bytes: send.bytes,
            send: request,
        };
        let rung = self.register_buffer(rung, send.address, send.bytes);
        self.busy_until = rung;
        self.short(rung, send.dest, 0, body, steps);
    }

    /// The receive `request` of the message that `source` announced as `send` is known at `at`.
    pub(super) fn want(
        &mut self,
        at: Picos,
        request: Request,
        source: u32,
        send: Request,
        wanted: Wanted,
        steps: &mut Vec<Step>,
    ) {
        self.pending.insert(request, Pending::Receive(wanted));
        let registered = self.register_buffer(at, wanted.address, wanted.bytes);
        self.clear(registered, request, source, send, steps);
    }

    /// Lets the sender send: the whole message, or what fits into a window.
    pub(super) fn clear(
        &mut self,
        at: Picos,
        request: Request,
        source: u32,
        send: Request,
        steps: &mut Vec<Step>,
    ) {
        let Some(Pending::Receive(wanted)) = self.pending.get(&request) else {
            return;
        };
        let body = Body::Clear {
            send,
            receive: request,
            address: wanted.address,
            bytes: wanted.bytes,
        };
        let rung = at + self.messages.send_overhead;
        self.short(rung, source, 0, body, steps);
    }

    /// The receiver of an announced message wants its data, or the next window of it.
    pub(super) fn cleared(
        &mut self,
        at: Picos,
        request: Request,
        receive: Request,
        address: u64,
        bytes: u64,
        steps: &mut Vec<Step>,
    ) {
        let Some(Pending::Send(announced)) = self.pending.get_mut(&request) else {
            return;
        };
        let (send, offset) = (announced.send, announced.sent_bytes);
        let bytes = bytes.min(send.bytes);
        let left = bytes.saturating_sub(offset);
        let window = left.min(self.messages.window_bytes.unwrap_or(left));
        announced.sent_bytes += window;
        let at_offset = |address: u64| Place {
            address: address.wrapping_add(offset),
            key: MemoryKey::Trusted,
        };
        let operation = Operation::Write {
            local: at_offset(send.address),
            remote: at_offset(address),
            bytes: window,
            lane: Lane::Bulk,
        };
        let rung = at + self.messages.send_overhead;
        if window < left {
            let body = Body::Window {
                send: request,
                receive,
            };
            self.post(rung, send.dest, operation, body, steps);
            return;
        }
        self.pending.remove(&request);
        let body = Body::Data {
            send: request,
            receive,
            bytes,
        };
        let reusable_at = self.post(rung, send.dest, operation, body, steps);
        let completion = Completion {
            status: Status::Success,
            peer: send.dest,
            tag: send.tag,
            bytes: send.bytes,
        };
        steps.push(Step::Complete {
            request,
            at: reusable_at,
            cost: self.messages.receive_overhead,
            completion,
        });
    }

    /// The last data of an announced message is here.
    pub(super) fn data(
        &mut self,
        at: Picos,
        packet: &Packet,
        request: Request,
        steps: &mut Vec<Step>,
    ) {
        let Some(Pending::Receive(wanted)) = self.pending.remove(&request) else {
            return;
        };
        steps.push(Step::Deliver {
            request,
            message: packet.message(),
            bytes: wanted.bytes,
        });
        let completion = Completion {
            status: received(wanted.is_truncated),
            peer: packet.source,
            tag: wanted.tag,
            bytes: wanted.bytes,
        };
        steps.push(Step::Complete {
            request,
            at,
            cost: self.messages.receive_overhead,
            completion,
        });
    }
}
