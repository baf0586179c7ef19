use super::*;
use proptest::prelude::*;

fn clock() -> Clock {
    Clock::new(1_000_000_000).unwrap()
}

fn tlb(entries: u32, ways: u32, ports: u32) -> Tlb {
    Tlb::new(
        &TlbSpec {
            entries,
            ways,
            ports,
            hit_latency_cycles: 1,
            retry_cycles: 0,
        },
        clock(),
    )
}

fn miss(translation: Translation) -> TlbMiss {
    match translation {
        Translation::Miss(miss) => miss,
        other => panic!("{other:?} instead of a miss"),
    }
}

#[test]
fn hits_go_on_under_a_miss_and_second_misses_merge() {
    let mut tlb = tlb(4, 4, 4);
    let first = miss(tlb.lookup(Picos::ZERO, 1));
    tlb.fill(first, Picos::from_nanos(50));
    let later = Picos::from_nanos(100);
    let second = miss(tlb.lookup(later, 2));
    tlb.fill(second, Picos::from_nanos(300));
    assert_eq!(
        tlb.lookup(later, 1),
        Translation::Hit(Picos::from_nanos(101))
    );
    assert_eq!(
        tlb.lookup(later, 2),
        Translation::Merged(Picos::from_nanos(300))
    );
    assert_eq!(
        tlb.counts(),
        TlbCounts {
            lookups: 4,
            misses: 2,
            merged: 1
        }
    );
}

#[test]
fn the_fifth_lookup_of_a_cycle_waits_for_a_port() {
    let mut tlb = tlb(8, 8, 4);
    let first = miss(tlb.lookup(Picos::ZERO, 1));
    tlb.fill(first, Picos(1));
    let at = Picos::from_nanos(10);
    let known: Vec<_> = (0..9).map(|_| tlb.lookup(at, 1)).collect();
    let expected =
        [11, 11, 11, 11, 12, 12, 12, 12, 13].map(|ns| Translation::Hit(Picos::from_nanos(ns)));
    assert_eq!(known, expected);
}

#[test]
fn an_invalidated_page_misses_again() {
    let mut tlb = tlb(4, 2, 4);
    let first = miss(tlb.lookup(Picos::ZERO, 9));
    tlb.fill(first, Picos(1));
    tlb.invalidate(9);
    miss(tlb.lookup(Picos::from_nanos(5), 9));
}

proptest! {
    #[test]
    fn hits_equal_the_list_model(
        sets in 1u32..5, ways in 1u32..6,
        pages in prop::collection::vec(0u32..200, 1..400), spread in 4u32..200,
    ) {
        let mut tlb = tlb(sets * ways, ways, 4);
        let mut model: Vec<Vec<u32>> = vec![Vec::new(); sets as usize];
        for (step, page) in pages.into_iter().enumerate() {
            let page = page % spread;
            let at = Picos::from_nanos(step as u64 * 100);
            let set = &mut model[(page % sets) as usize];
            let place = set.iter().position(|&held| held == page);
            if let Some(place) = place {
                set.remove(place);
            }
            set.insert(0, page);
            set.truncate(ways as usize);
            match tlb.lookup(at, page) {
                Translation::Miss(miss) => {
                    prop_assert!(place.is_none());
                    tlb.fill(miss, miss.start + Picos::from_nanos(50));
                }
                Translation::Hit(known) => {
                    prop_assert!(place.is_some());
                    prop_assert_eq!(known, at + Picos::from_nanos(1));
                }
                Translation::Merged(_) => prop_assert!(false, "nothing is in flight"),
            }
        }
    }
}
