//! What every transfer needs: the link it takes, the timeline that notes it, and the account it is booked to.

use super::pages::ledger::Ledger;
use crate::parts::link::{Link, LinkSpec};
use crate::timeline::Timeline;

/// The link between CPU and GPU, and what happened when.
#[derive(Clone, Debug)]
pub(crate) struct Wires {
    pub(crate) link: Link,
    pub(crate) timeline: Timeline,
    pub(crate) ledger: Ledger,
}

impl Wires {
    /// An idle link.
    pub(crate) fn new(link: LinkSpec, timeline: Timeline) -> Self {
        Self {
            link: Link::new(link),
            timeline,
            ledger: Ledger::default(),
        }
    }
}
