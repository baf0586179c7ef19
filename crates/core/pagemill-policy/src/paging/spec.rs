use std::fmt;

use pagemill_types::PageSize;

use super::read_ahead::{READ_AHEADS, ReadAheadEntry};
use super::{UNIT_BYTES, UNITS_AHEAD_MAX};
use crate::migration::{MigrationSpec, MigrationSpecError, POLICIES};
use crate::residency::{BLOCK_BYTES, EVICTIONS, EvictionEntry, GROWTHS, GrowthEntry};

/// Least pages that the frames must hold: fewer would leave no choice of what to evict.
const PAGES_MIN: u32 = 4;

/// How memory is paged: plain values, checked by [`PagingSpec::check`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagingSpec {
    /// Which ranges of a page move for a request. Its page is what is evicted as one, 64 KiB to 2 MiB; its unit is 4 KiB.
    pub migration: MigrationSpec,
    /// What else of the page moves with a faulted unit.
    pub growth: &'static GrowthEntry,
    /// Density in percent that a density tree has to exceed.
    pub density_percent: u32,
    /// What moves before anything asks for it.
    pub read_ahead: &'static ReadAheadEntry,
    /// Which page leaves.
    pub eviction: &'static EvictionEntry,
    /// Frames, of one unit each.
    pub budget_units: u32,
}

impl PagingSpec {
    /// Pages of 64 KiB with any number of valid ranges, streams read ahead, and the page evicted first to which nothing came for
    /// longest.
    pub fn new(budget_units: u32) -> Self {
        let several_ranges = &POLICIES[POLICIES.len() - 1];
        let mut migration = MigrationSpec::new(PageSize::KIB_64, several_ranges);
        migration.unit_bytes = UNIT_BYTES;
        Self {
            migration,
            growth: &GROWTHS[0],
            density_percent: 51,
            read_ahead: &READ_AHEADS[0],
            eviction: &EVICTIONS[0],
            budget_units,
        }
    }

    /// Units of a page.
    pub fn page_units(&self) -> u32 {
        (self.migration.page.bytes() / u64::from(UNIT_BYTES)) as u32
    }

    /// The least frames that work with this page size.
    pub fn least_budget_units(&self) -> u32 {
        // Twice what one fault brings at most, so that a fault never has to evict what it brought itself.
        (PAGES_MIN * self.page_units()).max(2 * (UNITS_AHEAD_MAX + 1))
    }

    /// Finds out whether the values fit each other.
    ///
    /// # Errors
    /// A page size or unit that the pager does not have, or too few frames for a few pages.
    pub fn check(&self) -> Result<(), PagingSpecError> {
        let page_bytes = self.migration.page.bytes();
        if !(64 << 10..=BLOCK_BYTES).contains(&page_bytes) {
            return Err(PagingSpecError::Page { page_bytes });
        }
        if self.migration.unit_bytes != UNIT_BYTES {
            let unit_bytes = self.migration.unit_bytes;
            return Err(PagingSpecError::Unit { unit_bytes });
        }
        let least = self.least_budget_units();
        if self.budget_units < least {
            return Err(PagingSpecError::Budget {
                budget_bytes: u64::from(self.budget_units) * u64::from(UNIT_BYTES),
                least_bytes: u64::from(least) * u64::from(UNIT_BYTES),
                page_bytes,
            });
        }
        self.migration
            .build()
            .map(drop)
            .map_err(PagingSpecError::Migration)
    }
}

/// Why a [`PagingSpec`] cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagingSpecError {
    /// The page is too small or too large.
    Page {
        /// The refused size.
        page_bytes: u64,
    },
    /// The unit is not the one that Linux moves on this machine.
    Unit {
        /// The refused size.
        unit_bytes: u32,
    },
    /// Too few frames.
    Budget {
        /// What was given.
        budget_bytes: u64,
        /// What is needed.
        least_bytes: u64,
        /// Page size that it has to hold several of.
        page_bytes: u64,
    },
    /// The migration policy refuses its values.
    Migration(MigrationSpecError),
}

impl fmt::Display for PagingSpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Page { page_bytes } => write!(
                f,
                "pages of {} KiB cannot be paged: use a power of two from 64 KiB to 2 MiB",
                page_bytes >> 10
            ),
            Self::Unit { unit_bytes } => {
                write!(f, "a unit of {unit_bytes} B cannot be paged: use 4 KiB")
            }
            Self::Budget {
                budget_bytes,
                least_bytes,
                page_bytes,
            } => write!(
                f,
                "{} KiB of frames are too few for pages of {} KiB: use {} KiB or more, or smaller pages",
                budget_bytes >> 10,
                page_bytes >> 10,
                least_bytes >> 10
            ),
            Self::Migration(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PagingSpecError {}
