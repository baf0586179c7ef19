//! How a network interface finds the physical page behind a virtual address when its table lies in main memory, and what
//! interfaces of today do instead: caches of memory keys, translations of an IOMMU, pages mapped on demand, registrations.
//!
//! The address translation table (ATT) holds one entry for each page. An [`AttCache`] keeps copies of some entries on
//! the chip; an [`Organization`] says where an entry may lie and how much a miss brings (Guo et al. 2011, section 2.2).
//! An RDMA knows its length, so the groups it will need can be fetched before they are: [`AttSpec::prefetch_groups`].
//!
//! ```
//! use pagemill_policy::translation::{AttSpec, Lookup};
//!
//! let spec = AttSpec::published();
//! let mut cache = spec.build()?;
//! assert!(matches!(cache.lookup(0), Lookup::Miss(_)));
//! // The miss brought a group of eight entries: the pages of 64 KiB.
//! assert!(matches!(cache.lookup(7), Lookup::Hit(_)));
//! // 2048 groups further on, 128 MiB away, an entry takes the same place.
//! assert!(matches!(cache.lookup(2048 * 8), Lookup::Miss(_)));
//! assert!(matches!(cache.lookup(0), Lookup::Miss(_)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cache;
mod direct_mapped;
mod hashed;
mod hashed_sets;
mod on_demand;
mod per_entry;
mod prefetch;
mod registration;
mod registry;
mod set_associative;
mod single_entries;
mod spec;
mod table;

pub use cache::{AttCache, Lookup, Slot};
pub use on_demand::OnDemand;
pub use prefetch::lines_ahead;
pub use registration::{Registered, RegistrationCache};
pub use registry::{ORGANIZATIONS, OrganizationEntry};
pub use spec::{AttSpec, AttSpecError};
pub use table::{LargePages, TableLayout};

/// Where the cache keeps which entries of the table.
///
/// A *line* is what a miss brings: a group of entries, or a single one. Every organization keeps the contract that
/// `pagemill_testkit::translation_organization_contract` checks.
#[derive(Clone, Copy, Debug)]
pub struct Organization {
    /// Entries of a line, a power of two: what one miss reads from the table.
    pub line_entries: u32,
    /// Number of sets, a power of two.
    pub sets: u32,
    /// Lines of a set; the least recently used one makes room.
    pub ways: u32,
    /// The set of that many that a line lies in. A line is an entry's number over the entries of a line.
    pub set_of: fn(line: u64, sets: u32) -> u32,
}

impl Organization {
    /// Groups of entries in sets of `ways`.
    fn of_groups(spec: &AttSpec, ways: u32, set_of: fn(u64, u32) -> u32) -> Self {
        Self {
            line_entries: spec.layout.group_entries,
            sets: spec.groups() / ways,
            ways,
            set_of,
        }
    }

    /// The set that `line` lies in, less than `sets`.
    #[inline]
    pub fn set_of(&self, line: u64) -> u32 {
        (self.set_of)(line, self.sets)
    }
}
