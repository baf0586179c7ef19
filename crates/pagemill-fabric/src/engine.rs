//! Stand-in for the simulated interface: eager messages at a fixed latency.
#![allow(missing_docs)]
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request(pub u64);
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId { pub source: u32, pub sequence: u64 }
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status { Success, Truncated, Canceled }
#[derive(Clone, Copy, Debug)]
pub struct Completion { pub status: Status, pub source: u32, pub tag: u64, pub bytes: u64 }
#[derive(Clone, Copy, Debug)]
pub struct Packet { pub source: u32, pub dest: u32, pub sequence: u64, pub at: u64, pub departed: u64, pub tag: u64, pub bytes: u64 }
impl Packet {
    pub fn key(&self) -> (u64, u32, u64) { (self.at, self.source, self.sequence) }
    pub fn payload_bytes(&self) -> u64 { self.bytes }
    pub fn message(&self) -> MessageId { MessageId { source: self.source, sequence: self.sequence } }
}
#[derive(Clone, Copy, Debug)]
pub enum Step { Transmit(Packet), Deliver { request: Request, message: MessageId, bytes: u64 }, Complete { request: Request, at: u64, completion: Completion } }
#[derive(Clone, Copy, Debug)]
pub struct Send { pub dest: u32, pub tag: u64, pub bytes: u64, pub address: u64 }
#[derive(Clone, Copy, Debug)]
pub struct Receive { pub source: Option<u32>, pub tag: u64, pub ignore: u64, pub bytes: u64, pub address: u64 }

pub struct Rank { id: u32, next: u64, posted: VecDeque<(Request, Receive)>, unexpected: VecDeque<Packet>, now: u64 }
pub const LATENCY: u64 = 1_000_000;
impl Rank {
    pub fn new(id: u32) -> Self { Self { id, next: 0, posted: VecDeque::new(), unexpected: VecDeque::new(), now: 0 } }
    fn request(&mut self) -> Request { self.next += 1; Request(self.next) }
    pub fn busy_until(&self) -> u64 { self.now }
    pub fn send(&mut self, at: u64, send: &Send, steps: &mut Vec<Step>) -> Request {
        let request = self.request();
        let at = at.max(self.now);
        self.now = at + 100_000;
        let packet = Packet { source: self.id, dest: send.dest, sequence: self.next, at: at + LATENCY + send.bytes * 100, departed: at, tag: send.tag, bytes: send.bytes };
        steps.push(Step::Transmit(packet));
        steps.push(Step::Complete { request, at: at + 200_000, completion: Completion { status: Status::Success, source: self.id, tag: send.tag, bytes: send.bytes } });
        request
    }
    pub fn receive(&mut self, at: u64, receive: &Receive, steps: &mut Vec<Step>) -> Request {
        let request = self.request();
        if let Some(index) = self.unexpected.iter().position(|p| matches(receive, p)) {
            let packet = self.unexpected.remove(index).expect("found");
            deliver(request, receive, &packet, at, steps);
        } else { self.posted.push_back((request, *receive)); }
        request
    }
    pub fn peek(&self, receive: &Receive) -> Option<Packet> { self.unexpected.iter().find(|p| matches(receive, p)).copied() }
    pub fn cancel(&mut self, _at: u64, request: Request) -> bool {
        let before = self.posted.len();
        self.posted.retain(|(r, _)| *r != request);
        before != self.posted.len()
    }
    pub fn arrive(&mut self, packet: &Packet, steps: &mut Vec<Step>) {
        if let Some(index) = self.posted.iter().position(|(_, r)| matches(r, packet)) {
            let (request, receive) = self.posted.remove(index).expect("found");
            deliver(request, &receive, packet, packet.at, steps);
        } else { self.unexpected.push_back(*packet); }
    }
}
fn matches(r: &Receive, p: &Packet) -> bool { r.source.is_none_or(|s| s == p.source) && (r.tag | r.ignore) == (p.tag | r.ignore) }
fn deliver(request: Request, receive: &Receive, packet: &Packet, at: u64, steps: &mut Vec<Step>) {
    let bytes = packet.bytes.min(receive.bytes);
    steps.push(Step::Deliver { request, message: packet.message(), bytes });
    let status = if packet.bytes > receive.bytes { Status::Truncated } else { Status::Success };
    steps.push(Step::Complete { request, at: at + 50_000, completion: Completion { status, source: packet.source, tag: packet.tag, bytes } });
}
