//! Real bytes of messages that have arrived and not been fetched.

use std::collections::BTreeMap;

use pagemill_nic::{Body, MessageId, Packet, Request};

use super::trail::Trail;

struct Stored {
    tag: u64,
    data: Option<u64>,
    bytes: Vec<u8>,
    /// Of an announced message: the sender's operation. Its bytes come later.
    announced: Option<Request>,
    /// Its way until it was here.
    trail: Trail,
}

/// Payloads by the packets that brought them.
#[derive(Default)]
pub struct Payloads {
    stored: BTreeMap<MessageId, Stored>,
}

impl Payloads {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.stored.len()
    }

    /// Keeps the payload of `packet`.
    pub fn keep(&mut self, packet: &Packet, data: Option<u64>, bytes: Vec<u8>, trail: Trail) {
        let (tag, announced) = match packet.body {
            Body::Eager { tag } => (tag, None),
            Body::Announce { tag, send, .. } => (tag, Some(send)),
            Body::Data { send, .. } => {
                self.forget_announced(packet.source, send);
                (0, None)
            }
            // From now on it waits for the next window, no more for its receive.
            Body::Window { send, .. } => return self.forget_announced(packet.source, send),
            Body::Write { .. } | Body::ReadData { .. } => (0, None),
            _ => return,
        };
        let stored = Stored {
            tag,
            data,
            bytes,
            announced,
            trail,
        };
        self.stored.insert(packet.message(), stored);
    }

    fn forget_announced(&mut self, source: u32, send: Request) {
        self.stored
            .retain(|id, stored| id.source != source || stored.announced != Some(send));
    }

    /// Takes the payload of a message, and its way.
    pub fn take(&mut self, message: MessageId) -> Option<(Option<u64>, Vec<u8>, Trail)> {
        let stored = self.stored.remove(&message)?;
        Some((stored.data, stored.bytes, stored.trail))
    }

    /// The way of the message that `source` announced as its operation `send`.
    pub fn announced(&self, source: u32, send: Request) -> Option<Trail> {
        let mut of_source = self.of_source(source);
        let announced = of_source.find(|stored| stored.announced == Some(send));
        announced.map(|stored| stored.trail)
    }

    /// Forgets what a refused packet brought.
    pub fn forget(&mut self, message: MessageId) {
        self.stored.remove(&message);
    }

    /// Data and way of the oldest message of a source with this tag.
    pub fn oldest(&self, source: u32, tag: u64) -> Option<(Option<u64>, Trail)> {
        let mut of_source = self.of_source(source);
        let oldest = of_source.find(|stored| stored.tag == tag)?;
        Some((oldest.data, oldest.trail))
    }

    fn of_source(&self, source: u32) -> impl Iterator<Item = &Stored> {
        let of = |sequence| MessageId { source, sequence };
        self.stored
            .range(of(0)..=of(u64::MAX))
            .map(|(_, stored)| stored)
    }
}
