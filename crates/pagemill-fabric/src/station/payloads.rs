//! Real bytes of messages that have arrived and not been fetched.

use std::collections::BTreeMap;

use pagemill_sim::nic::{Body, MessageId, Packet, Request};

struct Stored {
    tag: u64,
    data: Option<u64>,
    bytes: Vec<u8>,
    /// Of an announced message: the sender's operation. Its bytes come later.
    announced: Option<Request>,
}

/// Payloads by the packets that brought them.
#[derive(Default)]
pub struct Payloads {
    stored: BTreeMap<MessageId, Stored>,
}

impl Payloads {
    /// Keeps the payload of `packet`.
    pub fn keep(&mut self, packet: &Packet, data: Option<u64>, bytes: Vec<u8>) {
        let (tag, announced) = match packet.body {
            Body::Eager { tag } => (tag, None),
            Body::Announce { tag, send, .. } => (tag, Some(send)),
            Body::Data { send, .. } => {
                let source = packet.source;
                self.stored
                    .retain(|id, stored| id.source != source || stored.announced != Some(send));
                (0, None)
            }
            Body::Write { .. } | Body::ReadData { .. } => (0, None),
            _ => return,
        };
        let stored = Stored {
            tag,
            data,
            bytes,
            announced,
        };
        self.stored.insert(packet.message(), stored);
    }

    /// Takes the payload of a message.
    pub fn take(&mut self, message: MessageId) -> Option<(Option<u64>, Vec<u8>)> {
        let stored = self.stored.remove(&message)?;
        Some((stored.data, stored.bytes))
    }

    /// Forgets what a refused packet brought.
    pub fn forget(&mut self, message: MessageId) {
        self.stored.remove(&message);
    }

    /// The data that came with the oldest message of a source with this tag.
    pub fn data_of(&self, source: u32, tag: u64) -> Option<u64> {
        let from = MessageId {
            source,
            sequence: 0,
        };
        let to = MessageId {
            source,
            sequence: u64::MAX,
        };
        let mut of_source = self.stored.range(from..=to);
        of_source
            .find(|(_, stored)| stored.tag == tag)
            .and_then(|(_, stored)| stored.data)
    }
}
