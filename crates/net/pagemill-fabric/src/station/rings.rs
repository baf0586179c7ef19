//! The rings of one station: frames on their way out, frames coming in.

use std::collections::VecDeque;
use std::ops::Range;

use pagemill_nic::NicMachine;

use crate::board::{Board, Consumer, NEVER, Producer};

use super::frame::{Frame, HEAD_WORDS};

/// Memory that is taken for a payload on the word of its head alone.
const PAYLOAD_RESERVED: usize = 1 << 26;

/// Frames to one station that are not wholly in its ring.
struct Outgoing {
    dest: u32,
    ring: Producer,
    queue: VecDeque<Frame>,
    /// Bytes of the first frame's payload in the ring; `None` while not even its head is.
    sent: Option<usize>,
}

/// Frames from one station.
struct Incoming {
    source: u32,
    dest: u32,
    ring: Consumer,
    /// Whether the sender shares the interface: only then it asks for calls to be repeated.
    is_mate: bool,
    window_bytes: u64,
    /// A frame whose payload is not all there.
    partial: Option<(Frame, usize)>,
    /// It held what no station sends. What follows is not understood, so nothing more is read.
    is_damaged: bool,
}

/// All rings of one station.
pub struct Rings {
    board: Board,
    own: u32,
    lookahead_ps: u64,
    /// Most bytes of a message that a receiver clears at once; 0 where it clears whole messages.
    window_bytes: u64,
    outgoing: Vec<Outgoing>,
    incoming: Vec<Incoming>,
}

impl Rings {
    pub fn new(board: Board, own: u32, machine: &NicMachine) -> Self {
        Self {
            board,
            own,
            lookahead_ps: machine.lookahead().0,
            window_bytes: machine.messages.window_bytes.unwrap_or(0),
            outgoing: Vec::new(),
            incoming: Vec::new(),
        }
    }

    /// Takes a frame to be sent. Frames to one station arrive in the order of this call.
    pub fn send(&mut self, frame: Frame) {
        let dest = frame.packet.dest;
        let outgoing = match self.outgoing.iter_mut().position(|out| out.dest == dest) {
            Some(index) => &mut self.outgoing[index],
            None => {
                self.outgoing.push(Outgoing {
                    dest,
                    ring: self.board.producer(self.own, dest),
                    queue: VecDeque::new(),
                    sent: None,
                });
                self.outgoing.last_mut().expect("just pushed")
            }
        };
        outgoing.queue.push_back(frame);
        outgoing.flush(&self.board, self.lookahead_ps);
    }

    /// Moves what can be moved; whole frames that came in go to `arrived`.
    pub fn pump(&mut self, arrived: &mut impl FnMut(Frame)) {
        for outgoing in &mut self.outgoing {
            outgoing.flush(&self.board, self.lookahead_ps);
        }
        let stations = self.board.stations();
        while (self.incoming.len() as u32) < stations {
            let source = self.incoming.len() as u32;
            let node = self.board.node();
            self.incoming.push(Incoming {
                source,
                dest: self.own,
                ring: self.board.consumer(source, self.own),
                is_mate: node.is_shared() && node.mates(self.own).contains(&source),
                window_bytes: self.window_bytes,
                partial: None,
                is_damaged: false,
            });
        }
        for incoming in &mut self.incoming {
            if incoming.drain(arrived) {
                self.board.notify(incoming.source);
            }
        }
    }

    /// Whether nothing is left in the rings that lead here.
    pub fn is_drained(&self) -> bool {
        let is_drained = |one: &Incoming| one.is_damaged || one.ring.available() == 0;
        self.incoming.len() as u32 == self.board.stations() && self.incoming.iter().all(is_drained)
    }

    /// Arrival of the earliest frame whose payload is still coming.
    pub fn earliest_partial(&self) -> u64 {
        let partial = self
            .incoming
            .iter()
            .filter_map(|ring| ring.partial.as_ref());
        let arrivals = partial.map(|(frame, _)| frame.packet.key().0.0);
        arrivals.min().unwrap_or(NEVER)
    }

    /// The earliest arrival among frames that no other station can see yet.
    pub fn earliest_unsent(&self) -> u64 {
        let hidden = self.outgoing.iter().flat_map(Outgoing::hidden);
        let unsent = hidden.map(|frame| match frame.asked_ps() {
            // It has its effect at once.
            Some(asked_ps) => asked_ps.saturating_add(self.lookahead_ps),
            None => frame.packet.key().0.0,
        });
        unsent.min().unwrap_or(NEVER)
    }

    /// The same among packets to some stations.
    pub fn earliest_unsent_to(&self, dests: &Range<u32>) -> u64 {
        let to_dests = self.outgoing.iter().filter(|out| dests.contains(&out.dest));
        let packets = to_dests
            .flat_map(Outgoing::hidden)
            .filter(|frame| frame.asked_ps().is_none());
        let arrivals = packets.map(|frame| frame.packet.key().0.0);
        arrivals.min().unwrap_or(NEVER)
    }

    /// Whether every frame is wholly in its ring.
    pub fn is_flushed(&self) -> bool {
        self.outgoing.iter().all(|out| out.queue.is_empty())
    }
}

impl Outgoing {
    /// Frames whose head is not in the ring.
    fn hidden(&self) -> impl Iterator<Item = &Frame> {
        self.queue.iter().skip(usize::from(self.sent.is_some()))
    }

    /// Writes what there is room for, and wakes the receiver if it can go on with it, or has to make room.
    fn flush(&mut self, board: &Board, lookahead_ps: u64) {
        if self.sent.is_none() && !board.is_joined(self.dest) {
            // A station that is gone shares nothing any more.
            self.queue.retain(|frame| frame.asked_ps().is_none());
        }
        if self.queue.is_empty() {
            return;
        }
        let is_call = self.queue.iter().all(|frame| frame.asked_ps().is_some());
        let has_moved = self.write(board);
        let is_full = !self.queue.is_empty();
        // The receiver repeats a call only when it does something itself.
        if has_moved && (is_full || (!is_call && board.is_due(self.dest, lookahead_ps))) {
            board.notify(self.dest);
        }
    }

    /// Writes what there is room for; returns whether that was anything.
    fn write(&mut self, board: &Board) -> bool {
        let mut has_moved = false;
        while let Some(frame) = self.queue.front() {
            let sent = match self.sent {
                Some(sent) => sent,
                None if self.ring.room() < HEAD_WORDS => return has_moved,
                None => {
                    // Head and notice together, so that the receiver never believes in a later time.
                    let held = board.lock();
                    if frame.asked_ps().is_none() {
                        board.lower_base(&held, self.dest, frame.packet.key().0.0);
                    }
                    has_moved |= self.ring.push(&frame.head());
                    0
                }
            };
            let more = self.ring.push_bytes(&frame.payload[sent..]);
            has_moved |= more > 0;
            self.sent = Some(sent + more);
            if sent + more < frame.payload.len() {
                return has_moved;
            }
            self.queue.pop_front();
            self.sent = None;
        }
        has_moved
    }
}

impl Incoming {
    /// Reads what is there; returns whether the sender may have waited for the room.
    fn drain(&mut self, arrived: &mut impl FnMut(Frame)) -> bool {
        if self.is_damaged || self.ring.available() == 0 {
            return false;
        }
        let was_pressed = self.partial.is_some() || self.ring.is_half_full();
        self.read(arrived);
        was_pressed || self.partial.is_some()
    }

    fn read(&mut self, arrived: &mut impl FnMut(Frame)) {
        while !self.is_damaged {
            if self.partial.is_none() {
                let mut head = [0; HEAD_WORDS];
                if !self.ring.pop(&mut head) {
                    return;
                }
                let found = Frame::from_head(&head).filter(|(frame, full)| {
                    frame.is_sound(self.source, self.dest, *full, self.window_bytes)
                        && (self.is_mate || frame.asked_ps().is_none())
                });
                let Some((mut frame, full)) = found else {
                    self.give_up();
                    break;
                };
                frame.payload.reserve(full.min(PAYLOAD_RESERVED));
                self.partial = Some((frame, full));
            }
            if let Some((mut frame, full)) = self.partial.take() {
                self.ring.pop_bytes(&mut frame.payload, full);
                if frame.payload.len() < full {
                    self.partial = Some((frame, full));
                    return;
                }
                arrived(frame);
            }
        }
    }

    fn give_up(&mut self) {
        self.is_damaged = true;
        let Self { source, dest, .. } = self;
        eprintln!(
            "pagemill: rank {dest} cannot understand what rank {source} sent, and ignores it from now on; \
             look for a rank that overwrites memory, or runs another version of pagemill"
        );
    }
}
