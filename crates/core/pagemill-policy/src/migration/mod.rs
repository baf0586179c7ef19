//! Which bytes of a page move to the GPU when it asks for some of them.
//!
//! A [`Page`] starts in CPU memory. A GPU request for bytes that are not in GPU memory makes it partly valid
//! there, or wholly once nothing is missing; a CPU request brings the whole page back (Zhang et al. 2019,
//! sections 3 and 4). *What else* moves along with the requested bytes is the choice of a [`MigrationPolicy`].
//!
//! ```
//! use pagemill_policy::migration::{GpuDecision, MigrationSpec, Page, PageState, POLICIES};
//! use pagemill_types::{PageRange, PageSize};
//!
//! let mut spec = MigrationSpec::new(PageSize::MIB_2, POLICIES.find("multi-range")?);
//! spec.unit_bytes = 1024;
//! let migration = spec.build()?;
//!
//! let mut page = Page::new();
//! let mut fetch = Vec::new();
//! let request = PageRange { start: 5000, end: 5128 };
//! let decision = page.gpu_request(&migration, request, &mut fetch);
//! assert_eq!(decision, GpuDecision::Fetch { bytes: 2048 });
//! assert_eq!(fetch, [PageRange { start: 4096, end: 6144 }]);
//! assert_eq!(page.state(), PageState::PartialValid);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod full_slot_rule;
mod multi_range;
mod page;
mod registry;
mod single_range;
mod spec;
mod tree;
mod whole_page;

use pagemill_types::{PageRange, RangeSet};

use crate::surroundings::Surroundings;
pub use full_slot_rule::{FullSlotRule, UnknownFullSlotRule};
pub use page::{CpuDecision, GpuDecision, Page, PageState};
pub use registry::{BuildPolicy, POLICIES, PolicyEntry};
pub use spec::{Migration, MigrationSpec, MigrationSpecError};

/// Decides what moves to GPU memory for a request that is not wholly there.
///
/// Every policy keeps the contract that `pagemill_testkit::migration_policy_contract` checks.
pub trait MigrationPolicy: Send + Sync + std::fmt::Debug {
    /// Appends to `fetch` the ranges that move so that `request` becomes valid.
    ///
    /// The ranges are ascending, disjoint, on unit boundaries, and hold no byte that is valid already. `request` is
    /// on unit boundaries, lies in the page, and is missing at least one byte. `valid` is what earlier plans of
    /// the same policy led to. `around` shows the page's number, its allocation, the other pages and the faults before this one.
    /// The same arguments have the same answer.
    fn plan(
        &self,
        page_bytes: u32,
        valid: &RangeSet,
        request: PageRange,
        around: &dyn Surroundings,
        fetch: &mut Vec<PageRange>,
    );

    /// Whether [`Surroundings::faults`] is to be kept for this policy.
    fn tracks_faults(&self) -> bool {
        false
    }

    /// The most valid ranges a page ever holds under this policy; `None` for no limit.
    fn range_limit(&self) -> Option<u32> {
        None
    }
}
