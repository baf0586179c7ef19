use pagemill_types::{PageSize, VirtAddr, random64};
use serde::{Deserialize, Serialize};

/// The address translation table: one entry for each page, in the order of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableLayout {
    /// Page that one entry translates.
    pub page: PageSize,
    /// Larger pages that a part of memory has; `None` where all pages are equal.
    pub large: Option<LargePages>,
    /// Bytes of an entry, a power of two.
    pub entry_bytes: u32,
    /// Entries that lie together in one line of the processor's cache, a power of two. Reading them all takes as long as
    /// reading one.
    pub group_entries: u32,
}

/// Pages of a second size: which of them memory really has, a machine with free memory in large pieces decides by chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargePages {
    /// Their size, more than that of the other pages.
    pub page: PageSize,
    /// How much of memory they hold, in percent.
    pub share_percent: u32,
}

impl LargePages {
    /// Whether `address` lies in a large page: drawn from the number of the page.
    #[inline]
    pub fn holds(&self, address: VirtAddr) -> bool {
        random64(self.page.page_of(address).0, 0) % 100 < u64::from(self.share_percent)
    }
}

impl TableLayout {
    /// The first number of entries of large pages; no other page has so large a number.
    pub const LARGE: u64 = 1 << 43;

    /// The published table: 8-byte entries for pages of 8 KiB, eight to a 64-byte line (Guo et al. 2011, section 2.2).
    pub fn published() -> Self {
        Self {
            page: PageSize::KIB_8,
            large: None,
            entry_bytes: 8,
            group_entries: 8,
        }
    }

    /// Bytes of a group: what one read of the table brings.
    pub fn group_bytes(&self) -> u32 {
        self.entry_bytes * self.group_entries
    }

    /// Bytes of memory that a group translates.
    pub fn group_reach_bytes(&self) -> u64 {
        self.page.bytes() * u64::from(self.group_entries)
    }

    /// Number of the entry for `address`, counted from the first entry of its table. Entries of large pages are numbered from
    /// [`TableLayout::LARGE`] on.
    #[inline]
    pub fn entry_of(&self, address: VirtAddr) -> u64 {
        match self.large {
            Some(large) if large.holds(address) => Self::LARGE | large.page.page_of(address).0,
            _ => self.page.page_of(address).0,
        }
    }

    /// Numbers of the first and the last entry that `bytes` bytes from `start` on need. Nothing needs what its first byte would.
    #[inline]
    pub fn entries_of(&self, start: VirtAddr, bytes: u64) -> (u64, u64) {
        let last = VirtAddr(start.0.saturating_add(bytes.saturating_sub(1)));
        (self.entry_of(start), self.entry_of(last))
    }

    /// Numbers that the entries of `bytes` bytes from `start` on may have, first and last of each size of pages.
    pub fn spans(&self, start: VirtAddr, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
        let last = VirtAddr(start.0.saturating_add(bytes.saturating_sub(1)));
        // Both sizes: which pages are large is drawn page by page, so either may have any of these entries.
        let small = (self.page.page_of(start).0, self.page.page_of(last).0);
        let large = self.large.map(|large| {
            let number = |address| Self::LARGE | large.page.page_of(address).0;
            (number(start), number(last))
        });
        std::iter::once(small).chain(large)
    }

    /// Bytes of table for `bytes` of memory, whole groups.
    pub fn table_bytes(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.group_reach_bytes()) * u64::from(self.group_bytes())
    }
}

#[cfg(test)]
mod tests;
