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
fn a_share_of_memory_has_large_pages() {
    let layout = |share_percent| TableLayout {
        large: Some(LargePages {
            page: PageSize::MIB_2,
            share_percent,
        }),
        page: PageSize::KIB_4,
        ..TableLayout::published()
    };
    let entries = |share_percent| {
        let layout = layout(share_percent);
        let pages = (0..1_000 * 512).map(|page| layout.entry_of(VirtAddr(page * 4096)));
        pages.collect::<std::collections::BTreeSet<u64>>().len()
    };
    assert_eq!(entries(0), 512_000);
    assert_eq!(entries(100), 1_000);
    // Half of the blocks, within four standard deviations.
    assert!((256_500 - 33_000..256_500 + 33_000).contains(&entries(50)));
    assert_eq!(
        layout(100).entry_of(VirtAddr(1 << 21)),
        TableLayout::LARGE | 1
    );
}

#[test]
fn entries_follow_the_pages() {
    let layout = TableLayout::published();
    assert_eq!(layout.entry_of(VirtAddr(8191)), 0);
    assert_eq!(layout.entries_of(VirtAddr(8191), 2), (0, 1));
    assert_eq!(layout.entries_of(VirtAddr(8192), 8192), (1, 1));
    assert_eq!(layout.entries_of(VirtAddr(8192), 0), (1, 1));
}
