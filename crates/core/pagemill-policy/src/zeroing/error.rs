use std::fmt;

use super::{JobId, PageId, PageState};

/// A report to a [`super::Ledger`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The CPU has cleared the page.
    Cleared,
    /// The holder gave the page back.
    Returned,
    /// The former holder is proven to have lost it.
    Unreachable,
    /// The page was replaced by one without an owner.
    Renewed,
    /// The engine reports success.
    Done(JobId),
    /// The engine reports failure, or is silent.
    Failed(JobId),
    /// The fault waits no longer.
    Deadline(JobId),
    /// The engine can write no more.
    Fenced(JobId),
}

/// An event that the state of its page, or of its job, does not allow. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The report.
    pub event: Event,
    /// The page and its state, where the event names one that exists.
    pub page: Option<(PageId, PageState)>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.page {
            Some((page, state)) => write!(
                f,
                "page {} is {state:?}, which does not allow {:?}",
                page.0, self.event
            ),
            None => write!(f, "{:?} names a page or job that is not known", self.event),
        }
    }
}

impl std::error::Error for Refused {}
