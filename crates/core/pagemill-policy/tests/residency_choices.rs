//! Published policies of eviction and prefetch against statements about them.

use pagemill_policy::migration::{MigrationSpec, POLICIES, Page};
use pagemill_policy::residency::{
    AHEADS, BLOCK_BYTES, ChunkList, Driver, DriverPolicy, EVICTIONS, Effects, PageMask,
};
use pagemill_types::{PageRange, PageSize, Picos};
use proptest::prelude::*;

fn held(frames: u32, chunks: &ChunkList, leaving: &[u32]) -> u32 {
    let range = frames..frames + 32;
    range
        .filter(|frame| chunks.contains(*frame) && !leaving.contains(frame))
        .count() as u32
}

proptest! {
    #[test]
    fn a_tree_of_frames_leaves_whole_where_less_than_half_is_left(
        present in prop::collection::btree_set(0u32..96, 2..80), keep in 0u32..96,
    ) {
        let mut chunks = ChunkList::new(96);
        for frame in &present {
            chunks.push(*frame);
        }
        let eviction = (EVICTIONS.find("tree-pre-eviction").unwrap().build)();
        let victim = eviction.victim(&chunks, keep).unwrap();
        prop_assert_ne!(victim, keep);
        let mut leaving = Vec::new();
        eviction.along(&chunks, victim, keep, &mut leaving);
        prop_assert!(leaving.iter().all(|frame| chunks.contains(*frame)));
        prop_assert!(!leaving.contains(&keep) && !leaving.contains(&victim));
        leaving.push(victim);
        // All of it lies in the tree of 32 frames of the victim; if less than half of that was left, nothing is.
        let tree = victim / 32 * 32;
        prop_assert!(leaving.iter().all(|frame| (tree..tree + 32).contains(frame)));
        if held(tree, &chunks, &[victim]) < 16 {
            let kept = u32::from((tree..tree + 32).contains(&keep) && present.contains(&keep));
            prop_assert_eq!(held(tree, &chunks, &leaving), kept);
        }
        // A full neighborhood stays.
        if present.len() == 96 {
            prop_assert_eq!(leaving.len(), 2);
        }
    }

    #[test]
    fn a_tree_of_units_is_never_less_than_64_kib_nor_sparser_than_half(
        requests in prop::collection::vec(0u32..2048, 1..40),
    ) {
        let spec = MigrationSpec::new(PageSize::MIB_2, POLICIES.find("tree").unwrap());
        let migration = spec.build().unwrap();
        let mut page = Page::new();
        for unit in requests {
            let before = page.valid().clone();
            let request = PageRange { start: unit * 1024, end: unit * 1024 + 128 };
            let mut fetch = Vec::new();
            page.gpu_request(&migration, request, &mut fetch);
            if fetch.is_empty() {
                continue;
            }
            let (first, last) = (fetch[0].start, fetch[fetch.len() - 1].end);
            let moved: u64 = fetch.iter().map(|range| range.bytes()).sum();
            // What came, with what was there, fills an aligned power of two of at least 64 KiB.
            let mut size = 64u32 << 10;
            while request.start / size * size > first || request.start / size * size + size < last {
                size *= 2;
            }
            let node = PageRange { start: request.start / size * size, end: request.start / size * size + size };
            prop_assert!(page.valid().contains(node));
            let there: u64 = u64::from(size) - before.missing(node).map(PageRange::bytes).sum::<u64>();
            prop_assert_eq!(there + moved, u64::from(size));
        }
    }
}

#[test]
fn what_comes_back_is_spared() {
    let mut eviction = (EVICTIONS.find("spare-returning").unwrap().build)();
    let mut chunks = ChunkList::new(8);
    for block in [1, 1, 2, 3] {
        chunks.remove(block);
        chunks.push(block);
        eviction.came(block);
    }
    // 1 is the oldest, and came back once.
    assert_eq!(chunks.oldest_first().next(), Some(1));
    assert_eq!(eviction.victim(&chunks, u32::MAX), Some(2));
    assert_eq!(eviction.victim(&chunks, 2), Some(3));
}

#[test]
fn next_blocks_come_within_their_allocation() {
    let policy = DriverPolicy {
        ahead: AHEADS.find("next-blocks").unwrap(),
        ..DriverPolicy::default()
    };
    let mut driver = Driver::empty(32 * BLOCK_BYTES, &policy);
    driver.allocate(0..3 * BLOCK_BYTES);
    driver.allocate(3 * BLOCK_BYTES..12 * BLOCK_BYTES);
    driver.first_touched_by_host(0..12 * BLOCK_BYTES);
    let (mut effects, mut ahead) = (Effects::default(), Vec::new());
    driver.service(0, &PageMask::from_iter([0]), Picos::ZERO, &mut effects);
    driver.ahead(0, &mut ahead);
    assert_eq!(ahead, [0; 0], "64 KiB say nothing of the next block");
    for block in [0, 3] {
        driver.service(block, &PageMask::FULL, Picos::ZERO, &mut effects);
        driver.ahead(block, &mut ahead);
    }
    assert_eq!(ahead, [1, 2, 4, 5, 6, 7]);
    driver.service_ahead(4, Picos::ZERO, &mut effects);
    assert_eq!(
        (effects.fetched, effects.evictions.len()),
        (PageMask::FULL, 0)
    );
    assert!(driver.chunks().contains(4));
    let mut none = Vec::new();
    Driver::empty(32 * BLOCK_BYTES, &DriverPolicy::default()).ahead(0, &mut none);
    assert!(none.is_empty());
}
