use std::fmt;

use pagemill_types::PageSize;
use serde::{Deserialize, Serialize};

use super::{AttCache, OrganizationEntry, TableLayout, direct_mapped};

/// An ATT and the cache before it: plain values, checked once by [`AttSpec::build`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttSpec {
    /// The table.
    pub layout: TableLayout,
    /// How the cache is organized, from [`ORGANIZATIONS`](super::ORGANIZATIONS).
    #[serde(with = "super::registry::by_name")]
    pub organization: &'static OrganizationEntry,
    /// Capacity of the cache in bytes of entries; a power of two of groups.
    pub cache_bytes: u32,
    /// Lines of a set, for organizations that have sets.
    pub ways: u32,
    /// How many lines ahead of its current one an RDMA prefetches; 0 turns prefetching off.
    pub prefetch_groups: u32,
}

impl AttSpec {
    /// The published cache: 128 KiB, 2048 groups of eight entries, direct-mapped, the next group prefetched
    /// (Guo et al. 2011, section 2.2; the depth is not published).
    pub fn published() -> Self {
        Self {
            layout: TableLayout::published(),
            organization: &direct_mapped::ENTRY,
            cache_bytes: 128 << 10,
            ways: 1,
            prefetch_groups: 1,
        }
    }

    /// Groups that the cache holds.
    pub fn groups(&self) -> u32 {
        self.cache_bytes / self.layout.group_bytes().max(1)
    }

    /// Bytes of memory whose entries the cache can hold.
    pub fn reach_bytes(&self) -> u64 {
        u64::from(self.groups()) * self.layout.group_reach_bytes()
    }

    /// An empty cache of these values.
    ///
    /// # Errors
    /// A size that is no power of two where one is needed, or more ways than groups.
    pub fn build(&self) -> Result<AttCache, AttSpecError> {
        self.check()?;
        Ok(AttCache::new((self.organization.build)(self)))
    }

    /// Whether [`AttSpec::build`] would succeed.
    ///
    /// # Errors
    /// As [`AttSpec::build`].
    pub fn check(&self) -> Result<(), AttSpecError> {
        let error = |key, value: u32, allowed| {
            Err(AttSpecError {
                key,
                value,
                allowed,
            })
        };
        let layout = &self.layout;
        if !power_of_two(layout.entry_bytes, 1, 64) {
            return error(
                "entry_bytes",
                layout.entry_bytes,
                "a power of two from 1 to 64 B",
            );
        }
        if !power_of_two(layout.group_entries, 1, 64) {
            return error(
                "group_entries",
                layout.group_entries,
                "a power of two from 1 to 64",
            );
        }
        if let Some(large) = layout.large {
            if large.page.bytes() <= layout.page.bytes() {
                return error("large_page", kib(large.page), "larger than the page");
            }
            if large.share_percent > 100 {
                return error("large_share", large.share_percent, "at most 100 percent");
            }
            if self.prefetch_groups > 0 {
                // Entries of both sizes do not follow each other.
                return error(
                    "prefetch_groups",
                    self.prefetch_groups,
                    "0 with pages of two sizes",
                );
            }
        }
        let whole_groups = self.cache_bytes.is_multiple_of(layout.group_bytes());
        if !whole_groups || !power_of_two(self.groups(), 1, 1 << 24) {
            return error(
                "cache_bytes",
                self.cache_bytes,
                "a power of two of whole groups, at most 2^24",
            );
        }
        if !power_of_two(self.ways, 1, self.groups()) {
            return error(
                "ways",
                self.ways,
                "a power of two, at most the number of groups",
            );
        }
        Ok(())
    }
}

/// The size of a page in KiB, as an error shows it.
fn kib(page: PageSize) -> u32 {
    (page.bytes() >> 10) as u32
}

fn power_of_two(value: u32, least: u32, most: u32) -> bool {
    value.is_power_of_two() && (least..=most).contains(&value)
}

/// Why an [`AttSpec`] cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttSpecError {
    /// Name of the value.
    pub key: &'static str,
    /// What was given.
    pub value: u32,
    /// What is allowed.
    pub allowed: &'static str,
}

impl fmt::Display for AttSpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} = {}: it has to be {}",
            self.key, self.value, self.allowed
        )
    }
}

impl std::error::Error for AttSpecError {}
