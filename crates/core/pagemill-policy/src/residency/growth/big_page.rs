use super::{Growth, GrowthContext, GrowthEntry};
use crate::residency::PageMask;

/// Moves every aligned 64 KiB in which a page faulted.
#[derive(Clone, Copy, Debug)]
pub struct BigPage;

impl BigPage {
    /// How machines and scenarios find this policy.
    pub const ENTRY: GrowthEntry = GrowthEntry {
        name: "big-page",
        summary: "moves the aligned 64 KiB around each faulted page",
        build: &|_| Box::new(Self),
    };
}

impl Growth for BigPage {
    fn grow(&self, context: &GrowthContext<'_>) -> PageMask {
        context.faulted.big_pages()
    }
}
