//! What ranks tell each other, and what they tell their driver.

use pagemill_types::Picos;

use super::descriptor::{Flight, Key, PortId, Status};

/// A message to another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Send {
    /// The receiving rank.
    pub dest: u32,
    /// What the receive is matched by.
    pub tag: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Where the data lies, for translation: stable from run to run, or the times are not.
    pub address: u64,
}

/// A buffer for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receive {
    /// The sending rank; `None` for any.
    pub source: Option<u32>,
    /// The tag that is wanted.
    pub tag: u64,
    /// Bits of the tag that do not matter.
    pub ignore: u64,
    /// Length of the buffer in bytes.
    pub bytes: u64,
    /// Where the buffer lies, for translation.
    pub address: u64,
}

/// An access to registered memory of another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rma {
    /// The other rank.
    pub dest: u32,
    /// Where its memory is.
    pub remote_address: u64,
    /// Key of its registration.
    pub key: Key,
    /// Length in bytes.
    pub bytes: u64,
    /// Where the own memory is.
    pub address: u64,
}

/// An operation of a rank, numbered in the order of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request(pub u64);

/// A payload: who sent it and the number of its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// The sending rank.
    pub source: u32,
    /// Number of the packet among those of its source.
    pub sequence: u64,
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Whether all went as asked.
    pub status: Status,
    /// The other rank.
    pub peer: u32,
    /// Tag of the message.
    pub tag: u64,
    /// Bytes moved.
    pub bytes: u64,
}

/// What a call or a packet leads to. The driver carries it out, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Hand this packet to its destination.
    Transmit(Packet),
    /// The payload of `message` belongs into the buffer of `request` (a receive, or an RMA read).
    Deliver {
        /// The operation that waits for it.
        request: Request,
        /// The payload.
        message: MessageId,
        /// Bytes of it that fit.
        bytes: u64,
    },
    /// The payload of `message` belongs into registered memory: an RMA write of another rank.
    Store {
        /// Where.
        address: u64,
        /// The payload.
        message: MessageId,
        /// Bytes of it.
        bytes: u64,
        /// When data and completion entry are in memory.
        at: Picos,
        /// Processor time for a program that polls for it to take notice.
        cost: Picos,
    },
    /// An operation is over. A program that takes notice of it at `t` goes on at `max(t, at) + cost`.
    Complete {
        /// The operation.
        request: Request,
        /// When its completion entry is in memory.
        at: Picos,
        /// Processor time for taking notice, copies included.
        cost: Picos,
        /// How it ended.
        completion: Completion,
    },
}

/// A packet on its way: plain values of fixed size. Its payload, if it has one, travels beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The sending rank.
    pub source: u32,
    /// The receiving rank.
    pub dest: u32,
    /// Number of the packet among those of its source.
    pub sequence: u64,
    /// What the interfaces see.
    pub flight: Flight,
    /// What the ranks see.
    pub body: Body,
}

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// A whole message.
    Eager {
        /// Its tag.
        tag: u64,
    },
    /// A message that waits at the sender until its receive is known.
    Announce {
        /// Its tag.
        tag: u64,
        /// Its length.
        bytes: u64,
        /// The sender's operation.
        send: Request,
    },
    /// The receive of an announced message is known, or has room for its next window.
    Clear {
        /// The sender's operation.
        send: Request,
        /// The receiver's operation.
        receive: Request,
        /// Where the data goes.
        address: u64,
        /// Bytes that fit.
        bytes: u64,
    },
    /// Data of an announced message that does not fit into one window. Its bytes travel beside the last of them.
    Window {
        /// The sender's operation.
        send: Request,
        /// The receiver's operation.
        receive: Request,
    },
    /// The last data of an announced message.
    Data {
        /// The sender's operation.
        send: Request,
        /// The receiver's operation.
        receive: Request,
        /// Bytes of all windows.
        bytes: u64,
    },
    /// An RMA write.
    Write {
        /// The initiator's operation.
        operation: Request,
    },
    /// An RMA read.
    Read {
        /// The initiator's operation.
        operation: Request,
    },
    /// What an RMA read asked for.
    ReadData {
        /// The initiator's operation.
        operation: Request,
    },
    /// The end of an RMA operation.
    Acknowledge {
        /// The initiator's operation.
        operation: Request,
        /// How it ended.
        status: Status,
    },
    /// To a rank of the same node: what the sender asked of the interface that they share ([`NicCall`](super::NicCall)).
    Call {
        /// Which call.
        kind: CallKind,
        /// The port that it names.
        port: PortId,
        /// How it ended.
        status: Status,
        /// The sender's place in the order of time when it made the call.
        asked: Picos,
        /// The time that the call names.
        at: Picos,
    },
}

/// Calls of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// A descriptor.
    Post,
    /// Something arrived.
    Arrive,
    /// The answer to a read request.
    Answer,
    /// The end of an operation.
    Acknowledge,
    /// A registration was taken back.
    Forget,
}

impl Packet {
    /// The place in the order in which a rank takes its packets: arrival of the first bit, source, number.
    #[inline]
    pub fn key(&self) -> (Picos, u32, u64) {
        (self.flight.departure.first, self.source, self.sequence)
    }

    /// Bytes of payload that travel beside it.
    pub fn payload_bytes(&self) -> u64 {
        match self.body {
            Body::Eager { .. } | Body::Write { .. } | Body::ReadData { .. } => {
                self.flight.payload_bytes()
            }
            Body::Data { bytes, .. } => bytes,
            _ => 0,
        }
    }

    /// The name of its payload.
    pub fn message(&self) -> MessageId {
        MessageId {
            source: self.source,
            sequence: self.sequence,
        }
    }
}
