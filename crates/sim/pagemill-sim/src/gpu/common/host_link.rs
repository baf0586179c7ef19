//! The link between CPU and GPU, the timeline that notes each transfer, and the account it is booked to.

use crate::gpu::common::ledger::Ledger;
use crate::parts::link::{Link, LinkSpec};
use crate::timeline::Timeline;

/// The link between CPU and GPU, what it carried when, and for which allocation.
#[derive(Clone, Debug)]
pub(crate) struct HostLink {
    pub(crate) link: Link,
    pub(crate) timeline: Timeline,
    pub(crate) ledger: Ledger,
}

impl HostLink {
    /// An idle link.
    pub(crate) fn new(link: LinkSpec, timeline: Timeline) -> Self {
        Self {
            link: Link::new(link),
            timeline,
            ledger: Ledger::default(),
        }
    }
}
