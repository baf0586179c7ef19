//! What goes through a ring: a packet of the simulated network, what libfabric adds to it, and the payload.

use pagemill_nic::{
    Body, CallKind, Departure, Flight, FlightKind, Key, Lane, MemoryKey, Packet, Place, PortId,
    Request, Status,
};
use pagemill_types::Picos;

use super::trail::{PARTS_MAX, Trail};

/// 64-bit words of a frame's head.
pub const HEAD_WORDS: usize = FIRST_PART + PARTS_MAX;

/// The first word of the trail.
const FIRST_PART: usize = 17;

/// No packet carries more.
const PAYLOAD_BYTES_MAX: usize = 1 << 40;

/// Packets of later times are none of a program: 13 days. Sums of a few such times do not overflow.
const LATEST: Picos = Picos(1 << 60);

/// A packet with what it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub packet: Packet,
    /// Data that the sender attached for the completion of the receiver.
    pub data: Option<u64>,
    pub payload: Vec<u8>,
    /// What the time was spent on until the head of the packet's last segment arrives.
    pub trail: Trail,
}

impl Frame {
    /// When the sender asked the interface that it shares with the receiver; `None` of packets for ranks.
    pub fn asked_ps(&self) -> Option<u64> {
        match self.packet.body {
            Body::Call { asked, .. } => Some(asked.0),
            _ => None,
        }
    }

    pub fn head(&self) -> [u64; HEAD_WORDS] {
        let packet = &self.packet;
        let flight = &packet.flight;
        let (body, body_words) = body_words(&packet.body);
        let (from, from_key) = place_words(flight.from);
        let (to, to_key) = place_words(flight.to);
        let kinds = u64::from(flight_code(flight.kind))
            | u64::from(flight.lane == Lane::Bulk) << 8
            | from_key.0 << 16
            | to_key.0 << 24
            | body << 32
            | u64::from(self.data.is_some()) << 40;
        let words: [u64; FIRST_PART] = [
            u64::from(packet.source) << 32 | u64::from(packet.dest),
            packet.sequence,
            kinds,
            u64::from(flight.port.0),
            flight.bytes,
            from,
            from_key.1,
            to,
            to_key.1,
            flight.departure.first.0,
            flight.departure.last.0,
            body_words[0],
            body_words[1],
            body_words[2],
            body_words[3],
            self.data.unwrap_or(0),
            self.payload.len() as u64,
        ];
        let mut head = [0; HEAD_WORDS];
        head[..FIRST_PART].copy_from_slice(&words);
        head[FIRST_PART..].copy_from_slice(&self.trail.words());
        head
    }

    /// The frame of a head, and how many bytes of payload follow it. `None` if no frame has this head.
    pub fn from_head(head: &[u64; HEAD_WORDS]) -> Option<(Self, usize)> {
        let kinds = head[2].to_le_bytes();
        let flight = Flight {
            kind: flight_kind(kinds[0])?,
            lane: if kinds[1] == 0 {
                Lane::Message
            } else {
                Lane::Bulk
            },
            port: PortId(head[3] as u32),
            bytes: head[4],
            from: place(head[5], kinds[2], head[6])?,
            to: place(head[7], kinds[3], head[8])?,
            departure: Departure {
                first: Picos(head[9]),
                last: Picos(head[10]),
            },
        };
        let packet = Packet {
            source: (head[0] >> 32) as u32,
            dest: head[0] as u32,
            sequence: head[1],
            flight,
            body: body(kinds[4], [head[11], head[12], head[13], head[14]])?,
        };
        let frame = Self {
            packet,
            data: (kinds[5] != 0).then_some(head[15]),
            payload: Vec::new(),
            trail: Trail::of_words(head[10], &head[FIRST_PART..])?,
        };
        Some((frame, head[16] as usize))
    }

    /// Whether station `source` may have sent this frame to `dest`, with `payload_bytes` bytes of payload, on a machine whose
    /// receivers clear windows of `window_bytes` bytes.
    ///
    /// The simulated interface trusts its packets: it computes with their times, sends answers to their source, and
    /// goes through as many segments as they say. So a frame that a broken process left in a ring ends here.
    pub fn is_sound(
        &self,
        source: u32,
        dest: u32,
        payload_bytes: usize,
        window_bytes: u64,
    ) -> bool {
        let packet = &self.packet;
        let Flight {
            kind,
            departure,
            bytes,
            ..
        } = packet.flight;
        let is_of_kind = match packet.body {
            Body::Eager { .. } => matches!(kind, FlightKind::Short | FlightKind::Write),
            // Its bytes are in the ring with the last window's.
            Body::Window { .. } => kind == FlightKind::Write && bytes <= window_bytes,
            Body::Data { bytes: all, .. } => kind == FlightKind::Write && bytes <= all,
            Body::Write { .. } => kind == FlightKind::Write,
            Body::ReadData { .. } => kind == FlightKind::ReadData,
            // The memory that others may read is registered.
            Body::Read { .. } => {
                kind == FlightKind::ReadRequest
                    && matches!(packet.flight.from.key, MemoryKey::Registered(_))
            }
            Body::Announce { .. } | Body::Clear { .. } | Body::Acknowledge { .. } => {
                kind == FlightKind::Short && bytes == 0
            }
            Body::Call { asked, at, .. } => {
                asked <= LATEST && at <= LATEST && bytes <= PAYLOAD_BYTES_MAX as u64
            }
        };
        is_of_kind
            && (packet.source, packet.dest) == (source, dest)
            && packet.payload_bytes() == payload_bytes as u64
            && payload_bytes <= PAYLOAD_BYTES_MAX
            && departure.first <= departure.last
            && departure.last <= LATEST
    }
}

fn flight_code(kind: FlightKind) -> u8 {
    match kind {
        FlightKind::Short => 0,
        FlightKind::Write => 1,
        FlightKind::ReadRequest => 2,
        FlightKind::ReadData => 3,
    }
}

fn flight_kind(code: u8) -> Option<FlightKind> {
    Some(match code {
        0 => FlightKind::Short,
        1 => FlightKind::Write,
        2 => FlightKind::ReadRequest,
        3 => FlightKind::ReadData,
        _ => return None,
    })
}

fn place_words(place: Place) -> (u64, (u64, u64)) {
    let key = match place.key {
        MemoryKey::Registered(key) => (0, key.0),
        MemoryKey::Trusted => (1, 0),
        MemoryKey::Physical => (2, 0),
    };
    (place.address, key)
}

fn place(address: u64, code: u8, key: u64) -> Option<Place> {
    let key = match code {
        0 => MemoryKey::Registered(Key(key)),
        1 => MemoryKey::Trusted,
        2 => MemoryKey::Physical,
        _ => return None,
    };
    Some(Place { address, key })
}

fn body_words(body: &Body) -> (u64, [u64; 4]) {
    match *body {
        Body::Eager { tag } => (0, [tag, 0, 0, 0]),
        Body::Announce { tag, bytes, send } => (1, [tag, bytes, send.0, 0]),
        Body::Clear {
            send,
            receive,
            address,
            bytes,
        } => (2, [send.0, receive.0, address, bytes]),
        Body::Data {
            send,
            receive,
            bytes,
        } => (3, [send.0, receive.0, bytes, 0]),
        Body::Write { operation } => (4, [operation.0, 0, 0, 0]),
        Body::Read { operation } => (5, [operation.0, 0, 0, 0]),
        Body::ReadData { operation } => (6, [operation.0, 0, 0, 0]),
        Body::Acknowledge { operation, status } => (7, [operation.0, status_code(status), 0, 0]),
        Body::Window { send, receive } => (9, [send.0, receive.0, 0, 0]),
        Body::Call {
            kind,
            port,
            status,
            asked,
            at,
        } => {
            let kind = CALLS.iter().position(|known| *known == kind);
            let kind = kind.unwrap_or(CALLS.len()) as u64;
            (
                8,
                [
                    kind,
                    u64::from(port.0) | status_code(status) << 32,
                    asked.0,
                    at.0,
                ],
            )
        }
    }
}

fn body(code: u8, words: [u64; 4]) -> Option<Body> {
    let operation = Request(words[0]);
    Some(match code {
        0 => Body::Eager { tag: words[0] },
        1 => Body::Announce {
            tag: words[0],
            bytes: words[1],
            send: Request(words[2]),
        },
        2 => Body::Clear {
            send: Request(words[0]),
            receive: Request(words[1]),
            address: words[2],
            bytes: words[3],
        },
        3 => Body::Data {
            send: Request(words[0]),
            receive: Request(words[1]),
            bytes: words[2],
        },
        4 => Body::Write { operation },
        5 => Body::Read { operation },
        6 => Body::ReadData { operation },
        7 => Body::Acknowledge {
            operation,
            status: status(words[1])?,
        },
        8 => Body::Call {
            kind: *CALLS.get(usize::try_from(words[0]).ok()?)?,
            port: PortId(words[1] as u32),
            status: status(words[1] >> 32)?,
            asked: Picos(words[2]),
            at: Picos(words[3]),
        },
        9 => Body::Window {
            send: Request(words[0]),
            receive: Request(words[1]),
        },
        _ => return None,
    })
}

const CALLS: [CallKind; 5] = [
    CallKind::Post,
    CallKind::Arrive,
    CallKind::Answer,
    CallKind::Acknowledge,
    CallKind::Forget,
];

const STATUSES: [Status; 7] = [
    Status::Success,
    Status::Unregistered,
    Status::OutOfBounds,
    Status::WrongKey,
    Status::ForeignPort,
    Status::Truncated,
    Status::Canceled,
];

fn status_code(status: Status) -> u64 {
    let place = STATUSES.iter().position(|known| *known == status);
    place.unwrap_or(STATUSES.len()) as u64
}

fn status(code: u64) -> Option<Status> {
    STATUSES.get(usize::try_from(code).ok()?).copied()
}

#[cfg(test)]
mod tests;
