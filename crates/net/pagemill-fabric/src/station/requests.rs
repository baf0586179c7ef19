//! What the program has asked for and not been told about yet.

use std::collections::BTreeMap;

use pagemill_nic::{Completion, Request, Status};

use crate::counters::Counter;
use crate::memory::{Buffer, Memory};

use super::trail::Trail;

/// How the caller finds its own record of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(pub u64);

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A message sent.
    Send,
    /// A message received.
    Receive,
    /// A write to a peer's memory.
    Write,
    /// A read of a peer's memory.
    Read,
}

impl Kind {
    /// What counts the library's time for it.
    pub(super) fn software(self) -> Counter {
        match self {
            Self::Send => Counter::SendSoftwarePs,
            Self::Receive => Counter::ReceiveSoftwarePs,
            Self::Write => Counter::WriteSoftwarePs,
            Self::Read => Counter::ReadSoftwarePs,
        }
    }

    /// What counts the time for which the program waits until it is over.
    pub(super) fn wait(self) -> Counter {
        match self {
            Self::Send => Counter::SendWaitPs,
            Self::Receive => Counter::ReceiveWaitPs,
            Self::Write => Counter::WriteWaitPs,
            Self::Read => Counter::ReadWaitPs,
        }
    }
}

/// How it ended.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Whether it went well.
    pub status: Status,
    /// Who sent the message.
    pub source: u32,
    /// Its tag.
    pub tag: u64,
    /// Bytes that are in the buffer.
    pub bytes: u64,
    /// Bytes that were sent.
    pub sent_bytes: u64,
    /// Data that the sender attached.
    pub data: Option<u64>,
}

impl Outcome {
    /// Of a look that found nothing.
    pub fn of_nothing() -> Self {
        Self {
            status: Status::Success,
            source: 0,
            tag: 0,
            bytes: 0,
            sent_bytes: 0,
            data: None,
        }
    }

    /// Of what the interface says.
    pub fn of(completion: &Completion) -> Self {
        Self {
            status: completion.status,
            source: completion.peer,
            tag: completion.tag,
            bytes: completion.bytes,
            sent_bytes: completion.bytes,
            data: None,
        }
    }
}

/// A request that is over.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// Which.
    pub ticket: Ticket,
    /// What it was.
    pub kind: Kind,
    /// How it ended.
    pub outcome: Outcome,
}

/// A request that is under way.
pub struct Open {
    pub ticket: Ticket,
    pub kind: Kind,
    pub buffer: Buffer,
    /// Where the buffer lies in simulation.
    pub simulated: u64,
    /// What goes with a message to the completion of its receiver.
    pub data: Option<u64>,
    /// Length of the message that was received.
    pub sent_bytes: Option<u64>,
    /// The way of what it got.
    pub trail: Option<Trail>,
}

/// Requests that are under way, in the order in which they were made.
#[derive(Default)]
pub struct Requests {
    open: BTreeMap<Request, Open>,
}

impl Requests {
    pub fn add(&mut self, request: Request, open: Open) {
        self.open.insert(request, open);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    pub fn find(&self, ticket: Ticket) -> Option<Request> {
        let found = self.open.iter().find(|(_, open)| open.ticket == ticket);
        found.map(|(request, _)| *request)
    }

    /// The buffer of a request; an empty one if it is over.
    pub fn buffer(&self, request: Request) -> Buffer {
        self.open
            .get(&request)
            .map(|open| open.buffer.clone())
            .unwrap_or_default()
    }

    /// The buffer of the request that was made last.
    pub fn latest_buffer(&self) -> Buffer {
        let latest = self.open.last_key_value();
        latest
            .map(|(_, open)| open.buffer.clone())
            .unwrap_or_default()
    }

    /// The data that goes with a request.
    pub fn data(&self, request: Request) -> Option<u64> {
        self.open.get(&request).and_then(|open| open.data)
    }

    /// The data that goes with the request that was made last.
    pub fn latest_data(&self) -> Option<u64> {
        self.open.last_key_value().and_then(|(_, open)| open.data)
    }

    /// Puts a message into the buffer of its request.
    pub fn fill(
        &mut self,
        request: Request,
        (data, payload, trail): (Option<u64>, Vec<u8>, Trail),
        bytes: u64,
        memory: &mut dyn Memory,
    ) {
        let Some(open) = self.open.get_mut(&request) else {
            return;
        };
        open.data = data;
        open.trail = Some(trail);
        open.sent_bytes = Some(payload.len() as u64);
        let bytes = payload.len().min(bytes as usize);
        open.buffer.store(memory, &payload[..bytes]);
    }

    /// Takes a request that is over off the list.
    pub fn finish(&mut self, request: Request, mut outcome: Outcome) -> Option<(Done, Open)> {
        let open = self.open.remove(&request)?;
        if open.kind == Kind::Receive {
            outcome.data = open.data;
            outcome.sent_bytes = open.sent_bytes.unwrap_or(outcome.bytes);
        }
        let done = Done {
            ticket: open.ticket,
            kind: open.kind,
            outcome,
        };
        Some((done, open))
    }
}
