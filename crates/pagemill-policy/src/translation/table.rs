use pagemill_types::{PageSize, VirtAddr};

/// The address translation table: one entry for each page, in the order of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLayout {
    /// Page that one entry translates.
    pub page: PageSize,
    /// Bytes of an entry, a power of two.
    pub entry_bytes: u32,
    /// Entries that lie together in one line of the processor's cache, a power of two. Reading them all takes as long as
    /// reading one.
    pub group_entries: u32,
}

impl TableLayout {
    /// The published table: 8-byte entries for pages of 8 KiB, eight to a 64-byte line (Guo et al. 2011, section 2.2).
    pub fn published() -> Self {
        Self {
            page: PageSize::KIB_8,
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

    /// Number of the entry for `address`, counted from the first entry of its table.
    #[inline]
    pub fn entry_of(&self, address: VirtAddr) -> u64 {
        self.page.page_of(address).0
    }

    /// Numbers of the first and the last entry that `bytes` bytes from `start` on need. Nothing needs what its first byte would.
    #[inline]
    pub fn entries_of(&self, start: VirtAddr, bytes: u64) -> (u64, u64) {
        let last = VirtAddr(start.0.saturating_add(bytes.saturating_sub(1)));
        (self.entry_of(start), self.entry_of(last))
    }

    /// Bytes of table for `bytes` of memory, whole groups.
    pub fn table_bytes(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.group_reach_bytes()) * u64::from(self.group_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_table_covers_64_kib_a_group() {
        let layout = TableLayout::published();
        assert_eq!(layout.group_bytes(), 64);
        assert_eq!(layout.group_reach_bytes(), 64 << 10);
        assert_eq!(layout.table_bytes(128 << 20), 128 << 10);
        assert_eq!(layout.table_bytes(1), 64);
    }

    #[test]
    fn entries_follow_the_pages() {
        let layout = TableLayout::published();
        assert_eq!(layout.entry_of(VirtAddr(8191)), 0);
        assert_eq!(layout.entries_of(VirtAddr(8191), 2), (0, 1));
        assert_eq!(layout.entries_of(VirtAddr(8192), 8192), (1, 1));
        assert_eq!(layout.entries_of(VirtAddr(8192), 0), (1, 1));
    }
}
