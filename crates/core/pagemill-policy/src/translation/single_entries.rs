use pagemill_types::PageSize;

use super::{AttSpec, TableLayout, set_associative};

/// Bytes of an entry that is cached by itself, where only the number of entries matters.
const ENTRY_BYTES: u32 = 8;

impl AttSpec {
    /// A cache of `entries` single entries in sets of `ways`, for what is no group of a table: memory keys, or the translations that
    /// an IOMMU keeps. Both are powers of two.
    pub fn of_entries(entries: u32, ways: u32) -> Self {
        Self {
            layout: TableLayout {
                page: PageSize::KIB_4,
                large: None,
                entry_bytes: ENTRY_BYTES,
                group_entries: 1,
            },
            organization: &set_associative::ENTRY,
            cache_bytes: entries.saturating_mul(ENTRY_BYTES),
            ways,
            prefetch_groups: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Lookup;
    use super::*;

    #[test]
    fn each_entry_has_a_line_of_its_own() {
        let mut cache = AttSpec::of_entries(4, 4).build().unwrap();
        for entry in 0..4 {
            assert!(matches!(cache.lookup(entry), Lookup::Miss(_)));
        }
        assert!((0..4).all(|entry| cache.contains(entry)));
        assert!(matches!(cache.lookup(9), Lookup::Miss(_)));
        assert!(!cache.contains(0), "the least recently used one made room");
        assert!(AttSpec::of_entries(3, 1).build().is_err());
        assert!(AttSpec::of_entries(4, 8).build().is_err());
    }
}
