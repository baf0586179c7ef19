use pagemill_types::Picos;

use super::super::descriptor::FlightKind;
use super::super::machine::NicMachine;
use super::super::packet::Packet;

/// A transfer whose parts have not all arrived.
#[derive(Debug)]
pub(super) struct Transfer {
    pub packet: Packet,
    /// The head of its first part at the first link.
    entered: Picos,
    part_bytes: u64,
    /// Bytes that the interface sends as one.
    pub segment_bytes: u64,
    pub parts: u32,
    pub arrived: u32,
}

impl Transfer {
    pub fn new(packet: &Packet, entered: Picos, part_bytes: u32, machine: &NicMachine) -> Self {
        let flight = &packet.flight;
        let bytes = flight.payload_bytes();
        // Mini packets and requests are one packet each.
        let is_one = matches!(flight.kind, FlightKind::Short | FlightKind::ReadRequest);
        let part_bytes = if is_one {
            bytes.max(1)
        } else {
            part_bytes.into()
        };
        Self {
            packet: *packet,
            entered,
            part_bytes,
            segment_bytes: machine.engine.segment_bytes.into(),
            parts: bytes.div_ceil(part_bytes).max(1) as u32,
            arrived: 0,
        }
    }

    /// First byte of part `index`, and its bytes.
    pub fn extent(&self, index: u32) -> (u64, u64) {
        let offset = u64::from(index) * self.part_bytes;
        let left = self.packet.flight.payload_bytes() - offset;
        (offset, left.min(self.part_bytes))
    }

    /// When the head of part `index` is at the first link, if nothing delays it before.
    pub fn head(&self, index: u32) -> Picos {
        self.entered + self.spread(self.extent(index).0)
    }

    /// From the head of a segment to the head of the one `bytes` bytes later, as they were sent.
    pub fn spread(&self, bytes: u64) -> Picos {
        let sent = self.packet.flight.departure;
        let all = self.packet.flight.payload_bytes();
        let to_last_segment = all.saturating_sub(self.segment_bytes).max(1);
        let span = u128::from((sent.last - sent.first).0);
        Picos((span * u128::from(bytes.min(to_last_segment)) / u128::from(to_last_segment)) as u64)
    }
}
