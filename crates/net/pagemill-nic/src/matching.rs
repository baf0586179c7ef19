//! Which message goes to which receive: the first that fits, in the order of receives and of arrivals.

use std::collections::VecDeque;

use pagemill_types::{Invariants, Picos, first_broken};

use super::packet::{MessageId, Receive, Request};

/// A receive that waits for its message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub request: Request,
    pub receive: Receive,
}

/// A message that waits for its receive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unexpected {
    pub message: MessageId,
    pub tag: u64,
    pub bytes: u64,
    pub ready_at: Picos,
    /// The sender's operation, if the data is still there.
    pub announced: Option<Request>,
}

/// The two lists, each searched from its oldest entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matching {
    posted: VecDeque<Posted>,
    unexpected: VecDeque<Unexpected>,
}

impl Matching {
    /// The receive for a message that arrived, taken off its list.
    #[inline]
    pub fn arrived(&mut self, source: u32, tag: u64) -> Option<Posted> {
        let fits = |posted: &Posted| posted.receive.takes(source, tag);
        let place = self.posted.iter().position(fits)?;
        self.posted.remove(place)
    }

    /// The message for a receive, taken off its list.
    #[inline]
    pub fn wanted(&mut self, receive: &Receive) -> Option<Unexpected> {
        let fits = |waiting: &Unexpected| receive.takes(waiting.message.source, waiting.tag);
        let place = self.unexpected.iter().position(fits)?;
        self.unexpected.remove(place)
    }

    /// The message that [`Matching::wanted`] would take.
    pub fn peek(&self, receive: &Receive) -> Option<&Unexpected> {
        let mut waiting = self.unexpected.iter();
        waiting.find(|waiting| receive.takes(waiting.message.source, waiting.tag))
    }

    pub fn post(&mut self, request: Request, receive: Receive) {
        self.posted.push_back(Posted { request, receive });
    }

    pub fn keep(&mut self, unexpected: Unexpected) {
        self.unexpected.push_back(unexpected);
    }

    /// Takes a receive off its list; returns whether it was still there.
    pub fn cancel(&mut self, request: Request) -> bool {
        let place = self
            .posted
            .iter()
            .position(|posted| posted.request == request);
        place.and_then(|place| self.posted.remove(place)).is_some()
    }

    /// The receives that wait, from the oldest.
    pub fn posted(&self) -> impl Iterator<Item = Request> {
        self.posted.iter().map(|posted| posted.request)
    }

    /// Receives and messages that wait.
    pub fn waiting(&self) -> (usize, usize) {
        (self.posted.len(), self.unexpected.len())
    }
}

impl Invariants for Matching {
    fn broken_invariant(&self) -> Option<String> {
        let is_taken = |waiting: &Unexpected| {
            let (source, tag) = (waiting.message.source, waiting.tag);
            let mut posted = self.posted.iter();
            posted.any(|posted| posted.receive.takes(source, tag))
        };
        first_broken([
            (
                self.posted().is_sorted(),
                "receives are not in the order in which they were made",
            ),
            (
                !self.unexpected.iter().any(is_taken),
                "a message waits although a receive fits it",
            ),
        ])
    }
}

impl Receive {
    /// Whether a message of `source` with `tag` is one that this receive takes.
    #[inline]
    pub fn takes(&self, source: u32, tag: u64) -> bool {
        self.source.is_none_or(|wanted| wanted == source) && (tag ^ self.tag) & !self.ignore == 0
    }
}
