//! Points in time that may know what led to them.
//!
//! An interface computes times as maxima and sums. A [`Traced`] time carries the way along which the maximum was reached, with
//! how much of it is of which cause; plain [`Picos`] carry nothing and cost nothing.

use pagemill_types::Picos;

/// What a transfer spends its time on, and what a program waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The partner had not made its call yet.
    Partner,
    /// Overheads of the message library on the way.
    Software,
    /// Doorbell, descriptor, reads and writes of memory, engines.
    Interface,
    /// The state of a port was not on the chip.
    Port,
    /// An engine, a way to memory or a link worked for another transfer.
    Busy,
    /// An entry of the address translation table was not on the chip.
    Table,
    /// Links and switches.
    Wire,
}

impl Cause {
    /// All of them, in the order in which a sender meets them.
    pub const ALL: [Self; 7] = [
        Self::Partner,
        Self::Software,
        Self::Interface,
        Self::Port,
        Self::Busy,
        Self::Table,
        Self::Wire,
    ];
}

/// A point in time that operations lead to.
pub trait Moment: Copy {
    /// Whether it knows what led to it.
    const IS_TRACED: bool;

    /// The start of a way.
    fn new(at: Picos) -> Self;

    /// When it is.
    fn at(self) -> Picos;

    /// The way goes on until `at`, because of `cause`.
    #[must_use]
    fn until(self, at: Picos, cause: Cause) -> Self;

    /// The way goes on for `span`, because of `cause`.
    #[inline]
    #[must_use]
    fn after(self, span: Picos, cause: Cause) -> Self {
        self.until(self.at() + span, cause)
    }

    /// The later of two, of which both have to be over.
    #[inline]
    #[must_use]
    fn later(self, other: Self) -> Self {
        if other.at() > self.at() { other } else { self }
    }

    /// A resource is taken at `start` by what is ready now. What waits behind an earlier booking of its own, which ended at `own`,
    /// waits for what that waited for; the rest of the wait is for others.
    #[inline]
    #[must_use]
    fn taken(self, start: Picos, own: Option<Self>) -> Self {
        let ready = own.map_or(self, |own| self.later(own));
        ready.until(start, Cause::Busy)
    }
}

impl Moment for Picos {
    const IS_TRACED: bool = false;

    #[inline]
    fn new(at: Picos) -> Self {
        at
    }

    #[inline]
    fn at(self) -> Picos {
        self
    }

    #[inline]
    fn until(self, at: Picos, _: Cause) -> Self {
        at
    }
}

/// A time and the way to it: its start, and how long it was on the way because of each cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    from: Picos,
    at: Picos,
    spans: [Picos; Cause::ALL.len()],
}

impl Traced {
    /// Where the way started.
    pub fn from(&self) -> Picos {
        self.from
    }

    /// How much of the way is because of `cause`. All causes together are the whole way.
    pub fn span(&self, cause: Cause) -> Picos {
        self.spans[cause as usize]
    }
}

impl Moment for Traced {
    const IS_TRACED: bool = true;

    fn new(at: Picos) -> Self {
        Self {
            from: at,
            at,
            spans: [Picos::ZERO; Cause::ALL.len()],
        }
    }

    fn at(self) -> Picos {
        self.at
    }

    fn until(mut self, at: Picos, cause: Cause) -> Self {
        let span = at.saturating_since(self.at);
        self.spans[cause as usize] += span;
        self.at += span;
        self
    }
}

/// What the last call of a rank led to.
#[derive(Clone, Copy, Debug)]
pub struct Moments<M> {
    /// When what arrived was done.
    pub arrived: Option<M>,
    /// What was handed to the interface.
    pub sent: Option<Sent<M>>,
}

impl<M> Default for Moments<M> {
    fn default() -> Self {
        Self {
            arrived: None,
            sent: None,
        }
    }
}

/// A transfer that a rank handed to its interface.
#[derive(Clone, Copy, Debug)]
pub struct Sent<M> {
    /// When.
    pub rung: Picos,
    /// When the head of its last segment arrives.
    pub last: M,
    /// When the operation that it belongs to may be over for the rank: the buffer may be used again, or the transfer was refused.
    pub over: M,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_causes_of_the_longer_way_add_up_to_it() {
        let short = Traced::new(Picos(10)).after(Picos(5), Cause::Table);
        let long = Traced::new(Picos(2)).after(Picos(20), Cause::Wire);
        let way = short.later(long).taken(Picos(30), Some(short));
        assert_eq!((way.from(), way.at()), (Picos(2), Picos(30)));
        let spans = Cause::ALL.map(|cause| way.span(cause).0);
        assert_eq!(spans, [0, 0, 0, 0, 8, 0, 20]);
    }

    #[test]
    fn what_waits_behind_itself_waits_for_what_the_earlier_part_waited_for() {
        let own = Traced::new(Picos(0)).after(Picos(50), Cause::Table);
        let way = Traced::new(Picos(10)).taken(Picos(50), Some(own));
        assert_eq!(way, own);
    }
}
