//! Ranks that share one interface, and the memory of one computer.
//!
//! Each rank of a node has a copy of the node's interface. What one of them asks of it, the others repeat on theirs, in the same
//! order, so that all copies stay the same.

use pagemill_types::Picos;

use super::descriptor::{
    Departure, Flight, FlightKind, Lane, MemoryKey, Operation, Part, Place, PortId, Post, Status,
};
use super::interface::Nic;
use super::packet::{Body, CallKind};

/// Which ranks share an interface, and what messages between them cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// Ranks of a node: those from a multiple of this number on.
    pub ranks: u32,
    /// From the end of the sender's copy into shared memory until the receiver sees it.
    pub latency: Picos,
}

impl NodeSpec {
    /// Each rank has an interface of its own.
    pub const ALONE: Self = Self {
        ranks: 1,
        latency: Picos::ZERO,
    };

    /// Whether interfaces are shared.
    pub fn is_shared(&self) -> bool {
        self.ranks > 1
    }

    /// The node of `rank`.
    pub fn of(&self, rank: u32) -> u32 {
        rank / self.ranks.max(1)
    }

    /// The ranks of the node of `rank`.
    pub fn mates(&self, rank: u32) -> std::ops::Range<u32> {
        let first = self.of(rank) * self.ranks.max(1);
        first..first.saturating_add(self.ranks.max(1))
    }

    /// The port of `rank`.
    pub(super) fn port(&self, rank: u32) -> PortId {
        PortId(rank % self.ranks.max(1))
    }

    /// Whether a message from `rank` to `other` stays within the node, and its interface is shared.
    pub(super) fn is_local(&self, rank: u32, other: u32) -> bool {
        self.is_shared() && self.of(rank) == self.of(other)
    }
}

/// What a rank asked of its interface, for the copies of the other ranks of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicCall {
    /// [`Nic::post`].
    Post {
        /// When the doorbell was rung.
        at: Picos,
        /// The descriptor.
        post: Post,
    },
    /// [`Nic::arrive`], and how it ended.
    Arrive {
        /// What arrived.
        flight: Flight,
        /// What became of it.
        status: Status,
    },
    /// [`Nic::answer`].
    Answer {
        /// When.
        at: Picos,
        /// The request.
        request: Flight,
        /// The port that asked.
        back_to: PortId,
    },
    /// [`Nic::acknowledge`].
    Acknowledge {
        /// When.
        at: Picos,
        /// The port of the other side.
        target_port: PortId,
    },
    /// A registration was taken back.
    Forget {
        /// Its port.
        port: PortId,
        /// Where it began.
        address: u64,
        /// Its length.
        bytes: u64,
    },
}

impl NicCall {
    /// It as a packet to the other ranks of the node, which was made at `asked`.
    pub fn pack(&self, asked: Picos) -> (Flight, Body) {
        let (flight, kind, port, status, at) = match *self {
            Self::Post { at, post } => {
                let flight = described(&post.operation, post.target_port, Picos::ZERO);
                (flight, CallKind::Post, post.port, Status::Success, at)
            }
            Self::Arrive { flight, status } => {
                (flight, CallKind::Arrive, flight.port, status, Picos::ZERO)
            }
            Self::Answer {
                at,
                request,
                back_to,
            } => (request, CallKind::Answer, back_to, Status::Success, at),
            Self::Acknowledge { at, target_port } => {
                let flight = described(&Operation::Short { bytes: 0 }, target_port, Picos::ZERO);
                let kind = CallKind::Acknowledge;
                (flight, kind, target_port, Status::Success, at)
            }
            Self::Forget {
                port,
                address,
                bytes,
            } => {
                let mut flight = described(&Operation::Short { bytes: 0 }, port, Picos::ZERO);
                (flight.from.address, flight.bytes) = (address, bytes);
                (flight, CallKind::Forget, port, Status::Success, Picos::ZERO)
            }
        };
        let body = Body::Call {
            kind,
            port,
            status,
            asked,
            at,
        };
        (flight, body)
    }

    /// The call that `source` made of its interface; `None` of other packets.
    pub fn unpack(source: u32, flight: &Flight, body: &Body) -> Option<Self> {
        let Body::Call {
            kind,
            port,
            status,
            at,
            ..
        } = *body
        else {
            return None;
        };
        Some(match kind {
            CallKind::Post => Self::Post {
                at,
                post: Post {
                    port,
                    process: u64::from(source),
                    target_port: flight.port,
                    operation: operation(flight),
                },
            },
            CallKind::Arrive => Self::Arrive {
                flight: *flight,
                status,
            },
            CallKind::Answer => Self::Answer {
                at,
                request: *flight,
                back_to: port,
            },
            CallKind::Acknowledge => Self::Acknowledge {
                at,
                target_port: port,
            },
            CallKind::Forget => Self::Forget {
                port,
                address: flight.from.address,
                bytes: flight.bytes,
            },
        })
    }
}

impl Nic {
    /// Does what another rank asked of its copy. It is counted there.
    pub(super) fn repeat(&mut self, call: &NicCall) {
        let counts = self.save_counts();
        match call {
            NicCall::Post { at, post } => {
                self.post(*at, post);
            }
            NicCall::Arrive { flight, status } => {
                let checked = match status {
                    Status::Success => Ok(()),
                    status => Err(*status),
                };
                self.arrive_last::<Picos>(flight, &Part::whole(flight), checked);
            }
            NicCall::Answer {
                at,
                request,
                back_to,
            } => {
                self.answer(*at, request, *back_to);
            }
            NicCall::Acknowledge { at, target_port } => {
                self.acknowledge(*at, *target_port);
            }
            NicCall::Forget {
                port,
                address,
                bytes,
            } => self.forget((*port, *address, *bytes)),
        }
        self.restore_counts(counts);
    }
}

/// A transfer to `port` that arrives as a whole at `seen`.
pub(super) fn described(operation: &Operation, port: PortId, seen: Picos) -> Flight {
    let nowhere = Place {
        address: 0,
        key: MemoryKey::Physical,
    };
    let message = Lane::Message;
    let (kind, lane, bytes, from, to) = match *operation {
        Operation::Short { bytes } => {
            let bytes = u64::from(bytes);
            (FlightKind::Short, message, bytes, nowhere, nowhere)
        }
        Operation::Write {
            local,
            remote,
            bytes,
            lane,
        } => (FlightKind::Write, lane, bytes, local, remote),
        Operation::Read {
            local,
            remote,
            bytes,
        } => (FlightKind::ReadRequest, message, bytes, remote, local),
    };
    Flight {
        kind,
        lane,
        port,
        bytes,
        from,
        to,
        departure: Departure {
            first: seen,
            last: seen,
        },
    }
}

/// The operation that [`described`] describes.
fn operation(flight: &Flight) -> Operation {
    match flight.kind {
        FlightKind::Short => Operation::Short {
            bytes: flight.bytes as u32,
        },
        FlightKind::Write | FlightKind::ReadData => Operation::Write {
            local: flight.from,
            remote: flight.to,
            bytes: flight.bytes,
            lane: flight.lane,
        },
        FlightKind::ReadRequest => Operation::Read {
            local: flight.to,
            remote: flight.from,
            bytes: flight.bytes,
        },
    }
}
