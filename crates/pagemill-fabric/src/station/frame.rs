//! What goes through a ring: a packet of the simulated network, what libfabric adds to it, and the payload.

use crate::engine::Packet;

/// 64-bit words of a frame's head.
pub const HEAD_WORDS: usize = 10;

/// A packet with what it carries.
#[derive(Clone, Debug)]
pub struct Frame {
    pub packet: Packet,
    /// Data that the sender attached for the completion of the receiver.
    pub data: Option<u64>,
    pub payload: Vec<u8>,
}

impl Frame {
    pub fn head(&self) -> [u64; HEAD_WORDS] {
        let p = &self.packet;
        [
            u64::from(p.source),
            u64::from(p.dest),
            p.sequence,
            p.at,
            p.departed,
            p.tag,
            p.bytes,
            u64::from(self.data.is_some()),
            self.data.unwrap_or(0),
            self.payload.len() as u64,
        ]
    }

    /// The frame of a head, and how many bytes of payload follow it.
    pub fn from_head(head: &[u64; HEAD_WORDS]) -> (Self, usize) {
        let packet = Packet {
            source: head[0] as u32,
            dest: head[1] as u32,
            sequence: head[2],
            at: head[3],
            departed: head[4],
            tag: head[5],
            bytes: head[6],
        };
        let payload_bytes = head[9] as usize;
        let frame = Self {
            packet,
            data: (head[7] != 0).then_some(head[8]),
            payload: Vec::with_capacity(payload_bytes.min(1 << 30)),
        };
        (frame, payload_bytes)
    }
}
