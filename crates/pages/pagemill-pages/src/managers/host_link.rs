//! The link between CPU and GPU, the timeline that notes each transfer, and the account it is booked to.

use crate::managers::ledger::Ledger;
use crate::parts::link::{Link, LinkSpec};
use crate::timeline::Timeline;

/// The link between CPU and GPU, what it carried when, and for which allocation.
#[derive(Clone, Debug)]
pub struct HostLink {
    /// The wire.
    pub link: Link,
    /// What went over it when.
    pub timeline: Timeline,
    /// What went over it for whom.
    pub ledger: Ledger,
}

impl HostLink {
    /// An idle link.
    pub fn new(link: LinkSpec, timeline: Timeline) -> Self {
        Self {
            link: Link::new(link),
            timeline,
            ledger: Ledger::default(),
        }
    }
}
