//! `RangeSet` against the plainest model there is: one `bool` a byte.

use pagemill_types::{PageRange, RangeSet};
use proptest::prelude::*;

const PAGE_BYTES: u32 = 96;

#[derive(Clone, Debug, PartialEq)]
struct Bitmap(Vec<bool>);

impl Bitmap {
    fn new() -> Self {
        Self(vec![false; PAGE_BYTES as usize])
    }

    fn at(&self, byte: u32) -> bool {
        self.0[byte as usize]
    }

    fn insert(&mut self, range: PageRange) {
        for byte in range.start..range.end {
            self.0[byte as usize] = true;
        }
    }

    /// Maximal stretches of `wanted` inside `range`, found byte by byte.
    fn runs(&self, range: PageRange, wanted: bool) -> Vec<PageRange> {
        let mut runs: Vec<PageRange> = Vec::new();
        for byte in (range.start..range.end).filter(|&byte| self.at(byte) == wanted) {
            match runs.last_mut() {
                Some(run) if run.end == byte => run.end += 1,
                _ => runs.push(PageRange {
                    start: byte,
                    end: byte + 1,
                }),
            }
        }
        runs
    }

    fn all_runs(&self) -> Vec<PageRange> {
        let page = PageRange {
            start: 0,
            end: PAGE_BYTES,
        };
        self.runs(page, true)
    }
}

fn any_range() -> impl Strategy<Value = PageRange> {
    (0..PAGE_BYTES, 1..=12u32).prop_map(|(start, bytes)| PageRange {
        start,
        end: (start + bytes).min(PAGE_BYTES),
    })
}

fn agree(set: &RangeSet, model: &Bitmap) -> Result<(), TestCaseError> {
    let runs = model.all_runs();
    prop_assert_eq!(set.as_slice(), &runs[..]);
    prop_assert_eq!(set.len(), runs.len());
    prop_assert_eq!(set.is_empty(), runs.is_empty());
    prop_assert_eq!(set.covered_bytes(), runs.iter().map(|r| r.bytes()).sum());
    let hull = runs.first().map(|first| PageRange {
        start: first.start,
        end: runs[runs.len() - 1].end,
    });
    prop_assert_eq!(set.hull(), hull);
    let gaps = hull.map_or_else(Vec::new, |hull| model.runs(hull, false));
    prop_assert_eq!(set.gaps().collect::<Vec<_>>(), gaps);
    Ok(())
}

proptest! {
    #[test]
    fn inserts_cover_what_the_bitmap_covers(ranges in prop::collection::vec(any_range(), 0..24)) {
        let (mut set, mut model) = (RangeSet::new(), Bitmap::new());
        for range in ranges {
            let missing: u64 = model.runs(range, false).iter().map(|r| r.bytes()).sum();
            prop_assert_eq!(set.insert(range), missing);
            model.insert(range);
            agree(&set, &model)?;
        }
    }

    #[test]
    fn questions_answer_as_the_bitmap(ranges in prop::collection::vec(any_range(), 0..16), asked in any_range()) {
        let set: RangeSet = ranges.iter().copied().collect();
        let mut model = Bitmap::new();
        ranges.iter().for_each(|&r| model.insert(r));
        let mut bytes = asked.start..asked.end;
        prop_assert_eq!(set.contains(asked), bytes.clone().all(|b| model.at(b)));
        prop_assert_eq!(set.overlaps(asked), bytes.any(|b| model.at(b)));
        prop_assert_eq!(set.missing(asked).collect::<Vec<_>>(), model.runs(asked, false));
        prop_assert_eq!(set.within(asked).collect::<Vec<_>>(), model.runs(asked, true));
        let touching = set.as_slice().iter().filter(|r| r.start <= asked.end && asked.start <= r.end);
        prop_assert_eq!(&set.as_slice()[set.touching(asked)], &touching.copied().collect::<Vec<_>>()[..]);
    }

    #[test]
    fn order_of_insertion_is_forgotten(ranges in prop::collection::vec(any_range(), 0..16)) {
        let forward: RangeSet = ranges.iter().copied().collect();
        let backward: RangeSet = ranges.iter().rev().copied().collect();
        prop_assert_eq!(forward, backward);
    }
}

#[test]
fn every_pair_of_small_ranges_merges_exactly_when_it_touches() {
    const SMALL: u32 = 8;
    let all: Vec<PageRange> = (0..SMALL)
        .flat_map(|start| (start + 1..=SMALL).filter_map(move |end| PageRange::new(start, end)))
        .collect();
    for &a in &all {
        for &b in &all {
            let set: RangeSet = [a, b].into_iter().collect();
            let apart = a.end < b.start || b.end < a.start;
            assert_eq!(set.len(), if apart { 2 } else { 1 }, "{a} and {b}");
            assert!(set.contains(a) && set.contains(b));
        }
    }
}

#[test]
fn an_empty_range_changes_nothing_and_is_always_contained() {
    let empty = PageRange { start: 7, end: 7 };
    let mut set = RangeSet::new();
    assert_eq!(set.insert(empty), 0);
    assert!(set.is_empty() && set.contains(empty) && !set.overlaps(empty));
    assert_eq!(set.missing(empty).count(), 0);
    assert_eq!(PageRange::new(7, 7), None);
}

#[test]
fn clear_forgets_every_byte() {
    let mut set: RangeSet = PageRange::new(3, 9).into_iter().collect();
    set.clear();
    assert_eq!(set, RangeSet::new());
}

#[test]
fn ranges_reach_the_last_offset() {
    let mut set = RangeSet::new();
    let top = PageRange {
        start: u32::MAX - 4,
        end: u32::MAX,
    };
    assert_eq!(set.insert(top), 4);
    assert!(set.contains(top));
}
