//! Growth policies against a tree that is searched by brute force.

use std::collections::BTreeSet;

use pagemill_policy::residency::{BIG_PAGE_PAGES, BLOCK_PAGES, GROWTHS, GrowthContext, PageMask};
use pagemill_policy::surroundings::{Alone, FaultHistory, Surroundings};
use proptest::prelude::*;

/// For every faulted 64 KiB the largest of its aligned power-of-two neighborhoods that is dense enough, page by page.
fn brute_force(resident: &BTreeSet<u32>, faulted: &BTreeSet<u32>, percent: u32) -> BTreeSet<u32> {
    let big = |page: u32| page / BIG_PAGE_PAGES;
    let faulted_big: BTreeSet<u32> = faulted.iter().map(|&page| big(page)).collect();
    let counts = |page: &u32| resident.contains(page) || faulted_big.contains(&big(*page));
    let mut fetched = BTreeSet::new();
    for &leaf in &faulted_big {
        let mut best = leaf * BIG_PAGE_PAGES..(leaf + 1) * BIG_PAGE_PAGES;
        let mut pages = 2 * BIG_PAGE_PAGES;
        while pages <= BLOCK_PAGES {
            let start = leaf * BIG_PAGE_PAGES / pages * pages;
            let dense = (start..start + pages).filter(counts).count() as u32;
            if dense * 100 > pages * percent {
                best = start..start + pages;
            }
            pages *= 2;
        }
        fetched.extend(best);
    }
    fetched
}

fn grow(name: &str, percent: u32, resident: &BTreeSet<u32>, faulted: &BTreeSet<u32>) -> PageMask {
    grow_among(name, percent, resident, faulted, &Alone)
}

fn grow_among(
    name: &str,
    percent: u32,
    resident: &BTreeSet<u32>,
    faulted: &BTreeSet<u32>,
    around: &dyn Surroundings,
) -> PageMask {
    let growth = (GROWTHS.find(name).expect("registered").build)(percent);
    growth.grow(&GrowthContext {
        resident: resident.iter().copied().collect(),
        faulted: faulted.iter().copied().collect(),
        barred: PageMask::EMPTY,
        host_page_pages: 1,
        around,
    })
}

fn pages(max: usize) -> impl Strategy<Value = BTreeSet<u32>> {
    prop_oneof![
        prop::collection::btree_set(0..BLOCK_PAGES, 0..max),
        // Whole neighborhoods, so that thresholds are met and missed.
        prop::collection::btree_set(0..32_u32, 0..20).prop_map(|big_pages| big_pages
            .into_iter()
            .flat_map(|big| big * BIG_PAGE_PAGES..(big + 1) * BIG_PAGE_PAGES)
            .collect()),
    ]
}

proptest! {
    #[test]
    fn density_tree_is_the_brute_force_tree(resident in pages(300), faulted in pages(40), percent in 1_u32..=100) {
        let grown = grow("density-tree", percent, &resident, &faulted);
        let expected = brute_force(&resident, &faulted, percent);
        prop_assert_eq!(grown.pages().collect::<BTreeSet<_>>(), expected);
    }

    #[test]
    fn every_growth_holds_the_faulted_pages(resident in pages(100), faulted in pages(40)) {
        for entry in &GROWTHS {
            let grown = grow(entry.name, 51, &resident, &faulted);
            prop_assert!(faulted.iter().all(|&page| grown.contains(page)), "{}", entry.name);
        }
    }
}

#[test]
fn the_threshold_has_to_be_exceeded() {
    let big = |count: u32| (0..count * BIG_PAGE_PAGES).collect::<BTreeSet<u32>>();
    let fault = |page| BTreeSet::from([page]);
    // With 15 + 1 of 32, half is not more than 51 %: the left half of the block is full, and that is all.
    let half = grow("density-tree", 51, &big(15), &fault(15 * BIG_PAGE_PAGES));
    assert_eq!(half, PageMask::range(0..256));
    let more = grow("density-tree", 51, &big(16), &fault(16 * BIG_PAGE_PAGES));
    assert_eq!(more, PageMask::FULL, "17 of 32 are 53 %");
}

#[test]
fn a_lonely_fault_grows_to_64_kib() {
    let grown = grow("density-tree", 51, &BTreeSet::new(), &BTreeSet::from([77]));
    assert_eq!(grown, PageMask::range(64..80));
    let grown = grow("host-page", 51, &BTreeSet::new(), &BTreeSet::from([77]));
    assert_eq!(grown, PageMask::range(77..78));
}

/// A block of an allocation of 100, after faults in others.
#[derive(Debug)]
struct After(FaultHistory);

impl After {
    fn faults(blocks: impl IntoIterator<Item = u32>) -> Self {
        let mut history = FaultHistory::new();
        blocks.into_iter().for_each(|block| history.note(block));
        Self(history)
    }
}

impl Surroundings for After {
    fn page(&self) -> u32 {
        50
    }

    fn allocation(&self) -> std::ops::Range<u32> {
        0..100
    }

    fn valid_bytes(&self, _: u32) -> u64 {
        0
    }

    fn frames(&self) -> Option<u64> {
        None
    }

    fn free_frames(&self) -> Option<u64> {
        None
    }

    fn faults(&self) -> &FaultHistory {
        &self.0
    }
}

#[test]
fn trees_follow_the_order_of_faults() {
    let fault = BTreeSet::from([100]);
    // 25 of the 32 parts of 64 KiB are there: the tree of 2 MiB is dense, if there is one.
    let most: BTreeSet<u32> = (0..400).filter(|page| !(96..112).contains(page)).collect();
    let grown = |around: &After, resident: &BTreeSet<u32>| {
        let grown = grow_among("access-aware", 51, resident, &fault, around);
        grown.pages().collect::<Vec<_>>()
    };
    let pages = |range: std::ops::Range<u32>| range.collect::<Vec<_>>();
    let random = |block: u32| block * 37 % 101 % 100;
    let none = BTreeSet::new();
    for (order, around, leaf, largest) in [
        ("too few", After::faults(0..7), 96..112, 0..512),
        ("linear", After::faults(20..50), 64..128, 0..512),
        ("backward", After::faults((50..90).rev()), 64..128, 0..512),
        ("elsewhere", After::faults(200..250), 96..112, 0..512),
        (
            "covering",
            After::faults((0..60).map(random)),
            96..112,
            0..256,
        ),
        (
            "sparse",
            After::faults((0..60).map(|it| random(it % 9))),
            96..112,
            0..128,
        ),
    ] {
        assert_eq!(grown(&around, &none), pages(leaf), "{order}");
        assert_eq!(grown(&around, &most), pages(largest), "{order}");
    }
}
