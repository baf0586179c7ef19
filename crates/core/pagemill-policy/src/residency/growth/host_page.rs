use super::{Growth, GrowthContext, GrowthEntry};
use crate::residency::PageMask;

/// Moves the faulted host pages and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct HostPage;

impl HostPage {
    /// How machines and scenarios find this policy.
    pub const ENTRY: GrowthEntry = GrowthEntry {
        name: "host-page",
        summary: "moves the faulted pages of the host and nothing else",
        build: &|_| Box::new(Self),
    };
}

impl Growth for HostPage {
    fn grow(&self, context: &GrowthContext<'_>) -> PageMask {
        context.faulted
    }
}
