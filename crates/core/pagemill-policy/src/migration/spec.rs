use std::fmt;

use pagemill_types::{PageRange, PageSize};

use super::multi_range::MultiRange;
use super::whole_page::WholePage;
use super::{FullSlotRule, MigrationPolicy, PolicyEntry};

/// How pages migrate: plain values, checked once by [`MigrationSpec::build`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationSpec {
    /// Page size.
    pub page: PageSize,
    /// The policy, from [`POLICIES`](super::POLICIES).
    pub policy: &'static PolicyEntry,
    /// Migration unit in bytes: requests are rounded out to multiples of it. Divides the page.
    pub unit_bytes: u32,
    /// Gaps of fewer bytes than this are moved instead of starting another range. Zero moves none.
    pub gap_threshold_bytes: u32,
    /// The most valid ranges a page can hold; `None` for no limit.
    pub range_slots: Option<u32>,
    /// What happens when the range slots are taken.
    pub when_full: FullSlotRule,
}

impl MigrationSpec {
    /// Units of 1 KiB (or the page, if smaller), no gap moved, no limit of ranges.
    pub fn new(page: PageSize, policy: &'static PolicyEntry) -> Self {
        Self {
            page,
            policy,
            // The unit with which the document compares its mechanisms (Zhang et al. 2019, section 5.3).
            unit_bytes: page_bytes(page).min(1024),
            gap_threshold_bytes: 0,
            range_slots: None,
            when_full: FullSlotRule::default(),
        }
    }

    /// Checks what no policy can work with.
    ///
    /// # Errors
    /// A unit that does not divide the page, or no range slot at all.
    pub fn check(&self) -> Result<(), MigrationSpecError> {
        let page_bytes = page_bytes(self.page);
        if !page_bytes.is_multiple_of(self.unit_bytes) {
            let unit_bytes = self.unit_bytes;
            return Err(MigrationSpecError::Unit {
                unit_bytes,
                page_bytes,
            });
        }
        if self.range_slots == Some(0) {
            return Err(MigrationSpecError::NoRangeSlot);
        }
        Ok(())
    }

    /// The rules made of these values.
    ///
    /// # Errors
    /// As [`MigrationSpec::check`].
    pub fn build(&self) -> Result<Migration, MigrationSpecError> {
        self.check()?;
        Ok(Migration {
            spec: self.clone(),
            page_bytes: page_bytes(self.page),
            policy: (self.policy.build)(self),
        })
    }
}

/// A `PageSize` is at most 1 GiB.
fn page_bytes(page: PageSize) -> u32 {
    page.bytes() as u32
}

/// Why a [`MigrationSpec`] cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrationSpecError {
    /// The unit does not divide the page.
    Unit {
        /// The refused unit in bytes.
        unit_bytes: u32,
        /// Page size in bytes.
        page_bytes: u32,
    },
    /// The page could hold no valid range.
    NoRangeSlot,
}

impl fmt::Display for MigrationSpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit { unit_bytes, page_bytes } => write!(
                f,
                "a migration unit of {unit_bytes} B does not divide a page of {page_bytes} B: \
                 use a power of two from 1 B to {page_bytes} B"
            ),
            Self::NoRangeSlot => f.write_str(
                "a page with 0 range slots could hold no valid range: use 1 or more, or leave the limit out",
            ),
        }
    }
}

impl std::error::Error for MigrationSpecError {}

/// Checked rules of migration, shared by all pages of one size.
#[derive(Debug)]
pub struct Migration {
    spec: MigrationSpec,
    page_bytes: u32,
    policy: Box<dyn MigrationPolicy>,
}

impl Migration {
    /// The values it was made of.
    pub fn spec(&self) -> &MigrationSpec {
        &self.spec
    }

    /// Whether the bytes that move do not depend on the order of requests: whole pages, or the requested units alone.
    pub fn is_order_free(&self) -> bool {
        let MigrationSpec {
            policy,
            gap_threshold_bytes,
            range_slots,
            ..
        } = &self.spec;
        let moves_units = policy.name == MultiRange::ENTRY.name;
        policy.name == WholePage::ENTRY.name
            || moves_units && *gap_threshold_bytes == 0 && range_slots.is_none()
    }

    /// Bytes that a migration moves as one: the page if only whole pages move, as it is their migration unit (Zhang et
    /// al. 2019, section 1), otherwise the unit.
    pub fn bytes_moved_as_one(&self) -> u64 {
        let moves_pages = self.spec.policy.name == WholePage::ENTRY.name;
        u64::from(if moves_pages {
            self.page_bytes
        } else {
            self.spec.unit_bytes
        })
    }

    /// The policy that decides.
    pub fn policy(&self) -> &dyn MigrationPolicy {
        &*self.policy
    }

    /// Page size in bytes.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// `request` grown to whole migration units.
    pub fn round_out(&self, request: PageRange) -> PageRange {
        // A divisor of a power of two is one too.
        let within_unit = self.spec.unit_bytes - 1;
        PageRange {
            start: request.start & !within_unit,
            end: (request.end + within_unit) & !within_unit,
        }
    }
}
