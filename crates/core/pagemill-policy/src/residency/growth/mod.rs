//! What else moves when a page faults: one file for each policy.

mod access_aware;
mod big_page;
mod density_tree;
mod host_page;

use std::fmt;

use pagemill_types::{Registry, named};

use super::PageMask;
use crate::surroundings::Surroundings;

/// What a growth policy may look at.
#[derive(Clone, Copy, Debug)]
pub struct GrowthContext<'a> {
    /// Pages of the block in GPU memory.
    pub resident: PageMask,
    /// Pages of this service, whole host pages each.
    pub faulted: PageMask,
    /// Pages that no growth may take: past the allocation's end, or held elsewhere.
    pub barred: PageMask,
    /// Page size of the host in 4 KiB pages.
    pub host_page_pages: u32,
    /// The block's number, its allocation, the other blocks, and the faults before this one. For a pager: those of its page.
    pub around: &'a dyn Surroundings,
}

/// Decides which pages of a block move for the faulted ones.
pub trait Growth: Send + Sync + fmt::Debug {
    /// The pages to bring, a superset of the faulted ones. The caller takes away what is barred or there already.
    fn grow(&self, context: &GrowthContext<'_>) -> PageMask;

    /// Whether [`Surroundings::faults`] is to be kept for this policy.
    fn tracks_faults(&self) -> bool {
        false
    }
}

/// Every growth policy, in the order of listings. A new policy is one file and one line here.
#[rustfmt::skip]
pub static GROWTHS: Registry<GrowthEntry> = Registry::new("growth policy", &[
    host_page::HostPage::ENTRY,
    big_page::BigPage::ENTRY,
    access_aware::AccessAware::ENTRY,
    density_tree::DensityTree::ENTRY,
]);

/// Makes a policy for a density threshold in percent.
pub type BuildGrowth = dyn Fn(u32) -> Box<dyn Growth> + Send + Sync;

/// A growth policy by name.
#[derive(Clone, Copy)]
pub struct GrowthEntry {
    /// The name that machine and scenario files use.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Makes the policy; the number is the density threshold in percent, which not all heed.
    pub build: &'static BuildGrowth,
}

named!(GrowthEntry);
