use super::*;

#[test]
fn a_silent_region_stays_silent_when_its_neighbor_is_reported() {
    let mut counters = Counters::new(AccessCounterSpec {
        threshold: 3,
        region: CounterRegion::Kib64,
    });
    counters.grow(1);
    assert!(counters.count(0, 0, 3));
    counters.take(0);
    counters.silence(0, &PageMask::range(0..1));
    assert!(counters.count(0, BIG_PAGE_PAGES, 3));
    counters.take(0);
    assert!(!counters.count(0, 0, 3), "it has no room yet");
}

#[test]
fn small_regions_count_apart() {
    let mut counters = Counters::new(AccessCounterSpec {
        threshold: 3,
        region: CounterRegion::Kib64,
    });
    counters.grow(2);
    let second = BIG_PAGE_PAGES;
    assert!(!counters.count(1, 0, 2) && !counters.count(1, second, 2));
    assert!(counters.count(1, second + 1, 1), "3 accesses to one region");
    assert!(!counters.count(1, second, 1), "reported already");
    let moved = PageMask::range(second..2 * second);
    assert_eq!(counters.take(1), moved);
    assert!(counters.count(1, 5, 1), "the other region went on counting");
    counters.silence(1, &PageMask::range(0..1));
    assert!(!counters.count(1, 0, 100));
    counters.rearm(1);
    assert!(counters.count(1, 0, 3));
}
