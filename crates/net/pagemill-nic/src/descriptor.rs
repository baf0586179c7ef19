//! What software asks an interface for, and what crosses the wire.

use pagemill_types::Picos;

/// A virtual port of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u32);

/// What a process needs to know to access memory of another: the registration's place and generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub u64);

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// As asked.
    Success,
    /// No registration has the key: never made, or taken back.
    Unregistered,
    /// Some byte lies outside of the registration.
    OutOfBounds,
    /// The key's generation is another registration's.
    WrongKey,
    /// The port is closed, or another process's.
    ForeignPort,
    /// The message is longer than the buffer; what fits was delivered.
    Truncated,
    /// The program took the request back.
    Canceled,
}

impl Status {
    /// Whether all went as asked.
    pub fn is_success(self) -> bool {
        self == Self::Success
    }
}

/// Where the data of an operation lies in the memory of one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Virtual address of the first byte.
    pub address: u64,
    /// The registration that allows it.
    pub key: MemoryKey,
}

impl Place {
    /// The place `bytes` bytes further on.
    pub(super) fn after(self, bytes: u64) -> Self {
        Self {
            address: self.address.wrapping_add(bytes),
            ..self
        }
    }
}

/// By what right memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKey {
    /// By a registration: checked, and translated by the table.
    Registered(Key),
    /// The library keeps its buffers registered: translated, not checked.
    Trusted,
    /// A copy buffer of the port, at a known physical address: neither.
    Physical,
}

/// Which of the two kinds of traffic on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Everything that is matched, in order, before bulk data.
    Message,
    /// RDMA data.
    Bulk,
}

/// One operation for an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Post {
    /// The port used.
    pub port: PortId,
    /// The process that uses it.
    pub process: u64,
    /// Port at the other side.
    pub target_port: PortId,
    /// What to do.
    pub operation: Operation,
}

/// What an interface can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A mini packet of `bytes` that lie in the descriptor.
    Short {
        /// Bytes of data.
        bytes: u32,
    },
    /// RDMA of `bytes` from here to there.
    Write {
        /// Where the data is.
        local: Place,
        /// Where it goes.
        remote: Place,
        /// Bytes of data.
        bytes: u64,
        /// The traffic it belongs to.
        lane: Lane,
    },
    /// Ask for RDMA of `bytes` from there to here.
    Read {
        /// Where the data goes.
        local: Place,
        /// Where it is.
        remote: Place,
        /// Bytes of data.
        bytes: u64,
    },
}

/// When a transfer reaches the other side's port: heads of its first and last segment. Those between are evenly spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// First bit of the first segment arrives.
    pub first: Picos,
    /// First bit of the last segment arrives.
    pub last: Picos,
}

/// What an interface sees of an operation of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlightKind {
    /// A mini packet.
    Short,
    /// Data for memory.
    Write,
    /// A request for data.
    ReadRequest,
    /// Data that was asked for.
    ReadData,
}

/// A transfer on its way. Plain values: it can be sent to another process as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// What it is.
    pub kind: FlightKind,
    /// The traffic it belongs to.
    pub lane: Lane,
    /// The receiver's port.
    pub port: PortId,
    /// Bytes of data; of a read request, the bytes asked for.
    pub bytes: u64,
    /// Where the data comes from: its place in a page says where it was cut.
    pub from: Place,
    /// Where the data goes.
    pub to: Place,
    /// When it arrives.
    pub departure: Departure,
}

impl Flight {
    /// Bytes of data that come with it.
    pub fn payload_bytes(&self) -> u64 {
        match self.kind {
            FlightKind::ReadRequest => 0,
            _ => self.bytes,
        }
    }
}

/// A part of a transfer that arrives by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its first byte in the transfer.
    pub offset: u64,
    /// Its data in bytes.
    pub bytes: u64,
    /// Whether all others are here: parts that take different ways may overtake each other.
    pub is_last: bool,
    /// When it arrives.
    pub departure: Departure,
}

impl Part {
    /// All of `flight`.
    pub fn whole(flight: &Flight) -> Self {
        Self {
            offset: 0,
            bytes: flight.payload_bytes(),
            is_last: true,
            departure: flight.departure,
        }
    }
}

/// Answer of the sending interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted<M = Picos> {
    /// It is on its way.
    Sent {
        /// The status for the other side.
        flight: Flight,
        /// When the head of its last segment arrives: `flight.departure.last`.
        last: M,
        /// When the buffer may be used again.
        reusable_at: M,
    },
    /// The descriptor was refused; nothing was sent.
    Refused {
        /// When the error completion is in memory.
        at: M,
        /// Why.
        status: Status,
    },
}

/// Answer of the receiving interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived<M = Picos> {
    /// When data and completion entry are in memory; of a refused transfer, when that is known.
    pub done_at: M,
    /// What became of it.
    pub status: Status,
}
