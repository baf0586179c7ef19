//! The driver against a model that keeps a set for each place, and its rules one by one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use pagemill_policy::residency::{
    AccessCounterSpec, Action, BLOCK_BYTES, BLOCK_PAGES, Call, Driver, DriverSpec, EVICTIONS,
    Effects, GROWTHS, HostPage, PageMask, Side, ThrashingSpec, Touch,
};
use pagemill_types::Picos;
use proptest::prelude::*;

const BLOCKS: u32 = 6;

#[derive(Clone, Debug)]
enum Event {
    Fault {
        block: u32,
        pages: Vec<u32>,
        later_us: u64,
    },
    Counted {
        block: u32,
        page: u32,
        accesses: u32,
    },
    Called {
        first_page: u32,
        pages: u32,
        action: Action,
    },
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        Just(Action::PreferredLocation(Side::Cpu)),
        Just(Action::PreferredLocation(Side::Gpu)),
        Just(Action::AccessedByGpu),
        Just(Action::ReadMostly),
        Just(Action::Prefetch(Side::Cpu)),
        Just(Action::Prefetch(Side::Gpu)),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let faults = prop::collection::vec(0..BLOCK_PAGES, 1..6);
    prop_oneof![
        6 => (0..BLOCKS, faults, 0_u64..2000).prop_map(|(block, pages, later_us)| Event::Fault { block, pages, later_us }),
        2 => (0..BLOCKS, 0..BLOCK_PAGES, 1_u32..400).prop_map(|(block, page, accesses)| Event::Counted { block, page, accesses }),
        1 => (0..BLOCKS * BLOCK_PAGES, 1..1200_u32, action()).prop_map(|(first_page, pages, action)| Event::Called { first_page, pages, action }),
    ]
}

fn spec() -> impl Strategy<Value = DriverSpec> {
    let sizes = (1..=BLOCKS as u64 * 512, 1_u64..8);
    let policies = (0..GROWTHS.len(), 0..EVICTIONS.len());
    let switches = (any::<bool>(), any::<bool>(), any::<bool>());
    (sizes, policies, switches).prop_map(
        |((pages, chunks), (growth, eviction), (power, thrash, count))| {
            let mut spec = DriverSpec::new(pages * 4096, chunks * BLOCK_BYTES);
            spec.policy.growth = &GROWTHS[growth];
            spec.policy.eviction = &EVICTIONS[eviction];
            spec.policy.host_page = if power {
                HostPage::Kib64
            } else {
                HostPage::Kib4
            };
            spec.policy.thrashing = thrash.then(ThrashingSpec::default);
            spec.policy.access_counters = count.then(AccessCounterSpec::default);
            spec
        },
    )
}

/// What is true at all times.
fn check(driver: &Driver, spec: &DriverSpec) {
    let mut resident = 0;
    for block in 0..driver.blocks() {
        let here = driver.resident(block);
        assert!(
            !here.overlaps(driver.mapped(block)),
            "block {block}: a page is in two places"
        );
        let pages = spec.allocation_bytes.div_ceil(4096) - u64::from(block) * 512;
        let beyond = PageMask::range(pages.min(512) as u32..BLOCK_PAGES);
        assert!(
            !here.or(driver.mapped(block)).overlaps(&beyond),
            "block {block}: pages beyond the allocation"
        );
        assert_eq!(
            driver.chunks().contains(block),
            !here.is_empty(),
            "block {block}: a chunk for nothing"
        );
        for page in 0..BLOCK_PAGES {
            let met = match (here.contains(page), driver.mapped(block).contains(page)) {
                (true, _) => Touch::Local,
                (false, true) => Touch::Remote,
                (false, false) => Touch::Fault,
            };
            assert_eq!(driver.touch(block * BLOCK_PAGES + page), met);
        }
        resident += u64::from(here.count());
    }
    let moved = driver.traffic();
    assert_eq!(
        moved.pages_in,
        moved.pages_out + moved.pages_dropped + resident,
        "{moved:?}"
    );
    assert!(driver.chunks().len() <= driver.chunk_limit());
}

proptest! {
    #[test]
    fn pages_are_in_one_place_and_what_came_in_is_there_or_left(spec in spec(), events in prop::collection::vec(event(), 1..80)) {
        let mut driver = Driver::new(&spec).expect("a valid driver");
        let mut effects = Effects::default();
        let mut now = Picos::ZERO;
        for event in events {
            match event {
                Event::Fault { block, pages, later_us } if block < driver.blocks() => {
                    now += Picos::from_nanos(later_us * 1000);
                    driver.release(now);
                    let faulted: PageMask = pages.iter().copied().collect();
                    driver.service(block, &faulted, now, &mut effects);
                    for page in faulted.pages().filter(|&page| u64::from(block * 512 + page) * 4096 < spec.allocation_bytes) {
                        let throttled = effects.throttled.contains(page);
                        let faults = driver.touch(block * BLOCK_PAGES + page) == Touch::Fault;
                        prop_assert!(!faults || throttled || spec.policy.host_page == HostPage::Kib64, "page {page} still faults");
                    }
                }
                Event::Counted {
                    block,
                    page,
                    accesses,
                } if block < driver.blocks() && driver.count_remote(block, page, accesses) => {
                    driver.service_counter(block, now, &mut effects);
                }
                Event::Called { first_page, pages, action } => {
                    let start = u64::from(first_page) * 4096;
                    let end = (start + u64::from(pages) * 4096).min(spec.allocation_bytes);
                    if start < end {
                        driver.call(&Call { bytes: start..end, action }, &mut effects, |_, _| {});
                    }
                }
                _ => {}
            }
            check(&driver, &spec);
        }
    }

    #[test]
    fn the_oldest_chunk_leaves_first(chunks in 1_usize..5, blocks in prop::collection::vec(0..BLOCKS, 1..60), by_migration: bool) {
        let mut spec = DriverSpec::new(u64::from(BLOCKS) * BLOCK_BYTES, chunks as u64 * BLOCK_BYTES);
        spec.policy.thrashing = None;
        let order = if by_migration { "migration-order" } else { "allocation-order" };
        spec.policy.eviction = EVICTIONS.find(order).expect("it is listed");
        let mut driver = Driver::new(&spec).expect("a valid driver");
        let mut effects = Effects::default();
        let mut held: VecDeque<u32> = VecDeque::new();
        for (index, block) in blocks.into_iter().enumerate() {
            let page = index as u32 * 16 % BLOCK_PAGES;
            driver.service(block, &PageMask::from_iter([page]), Picos::ZERO, &mut effects);
            let mut left = Vec::new();
            match held.iter().position(|&holder| holder == block) {
                Some(place) if by_migration && !effects.fetched.is_empty() => {
                    held.remove(place);
                    held.push_back(block);
                }
                // An access that moves nothing does not make a chunk younger.
                Some(_) => {}
                None => {
                    if held.len() == chunks {
                        left.extend(held.pop_front());
                    }
                    held.push_back(block);
                }
            }
            let evicted: Vec<u32> = effects.evictions.iter().map(|evicted| evicted.block).collect();
            prop_assert_eq!(evicted, left);
            prop_assert_eq!(driver.chunks().oldest_first().collect::<Vec<_>>(), held.iter().copied().collect::<Vec<_>>());
            let newest: Vec<u32> = driver.chunks().newest_first().collect();
            prop_assert!(newest.iter().rev().eq(held.iter()));
        }
    }

    #[test]
    fn page_masks_are_sets(a in prop::collection::btree_set(0..BLOCK_PAGES, 0..200), b in prop::collection::btree_set(0..BLOCK_PAGES, 0..200), start in 0..520_u32, length in 0..520_u32) {
        let (x, y): (PageMask, PageMask) = (a.iter().copied().collect(), b.iter().copied().collect());
        let set = |mask: PageMask| mask.pages().collect::<BTreeSet<_>>();
        prop_assert_eq!(set(x.or(&y)), a.union(&b).copied().collect());
        prop_assert_eq!(set(x.and(&y)), a.intersection(&b).copied().collect());
        prop_assert_eq!(set(x.without(&y)), a.difference(&b).copied().collect());
        prop_assert_eq!(x.overlaps(&y), !a.is_disjoint(&b));
        prop_assert_eq!(x.count(), a.len() as u32);
        let range = start..start + length;
        prop_assert_eq!(x.count_in(range.clone()), a.iter().filter(|page| range.contains(page)).count() as u32);
        prop_assert_eq!(set(PageMask::range(range.clone())), range.filter(|page| *page < BLOCK_PAGES).collect());
        prop_assert_eq!(x.runs(), a.iter().filter(|&&page| page == 0 || !a.contains(&(page - 1))).count() as u32);
    }
}

/// One page in turn with another block that takes its chunk: the page thrashes.
fn thrash(driver: &mut Driver, now: &mut Picos, gap: Picos) -> BTreeMap<&'static str, u32> {
    let mut seen = BTreeMap::new();
    let mut effects = Effects::default();
    for _ in 0..400 {
        for block in [0, 1] {
            *now += gap;
            driver.service(block, &PageMask::from_iter([0]), *now, &mut effects);
            if !effects.throttled.is_empty() {
                *seen.entry("throttled").or_default() += 1;
                assert_eq!(effects.throttled_until, *now + ThrashingSpec::default().nap);
                *now = effects.throttled_until;
                driver.service(block, &PageMask::from_iter([0]), *now, &mut effects);
                assert!(effects.throttled.is_empty(), "a nap ends");
            }
            if !effects.pinned.is_empty() {
                *seen.entry("pinned").or_default() += 1;
                return seen;
            }
        }
    }
    seen
}

fn two_blocks_one_chunk() -> Driver {
    let mut spec = DriverSpec::new(2 * BLOCK_BYTES, BLOCK_BYTES);
    spec.policy.growth = GROWTHS.find("host-page").expect("registered");
    Driver::new(&spec).expect("a valid driver")
}

#[test]
fn thrashing_is_throttled_then_pinned_and_let_go_again() {
    let mut driver = two_blocks_one_chunk();
    let mut now = Picos::ZERO;
    let seen = thrash(&mut driver, &mut now, Picos::from_nanos(50_000));
    assert_eq!(seen.get("pinned"), Some(&1));
    assert!(seen["throttled"] >= ThrashingSpec::default().pin_threshold);
    let pinned: Vec<u32> = [0, 512]
        .into_iter()
        .filter(|&page| driver.touch(page) == Touch::Remote)
        .collect();
    assert_eq!(pinned.len(), 1, "the page stays in CPU memory, mapped");
    let until = driver.next_release().expect("a pin ends");
    assert_eq!(until, now + ThrashingSpec::default().pin);
    assert_eq!(driver.release(until - Picos(1)), 0);
    assert_eq!(driver.release(until), 1);
    assert_eq!(driver.touch(pinned[0]), Touch::Fault);
    assert_eq!(driver.next_release(), None);
}

#[test]
fn what_comes_back_seldom_does_not_thrash() {
    let mut driver = two_blocks_one_chunk();
    let mut now = Picos::ZERO;
    assert!(thrash(&mut driver, &mut now, Picos::from_nanos(600_000)).is_empty());
}

#[test]
fn counters_move_what_was_accessed_but_not_what_prefers_the_cpu() {
    let mut spec = DriverSpec::new(2 * BLOCK_BYTES, 2 * BLOCK_BYTES);
    spec.policy.access_counters = Some(AccessCounterSpec::default());
    let mut driver = Driver::new(&spec).expect("a valid driver");
    let mut effects = Effects::default();
    let call = |bytes, action| Call { bytes, action };
    driver.call(
        &call(0..2 * BLOCK_BYTES, Action::AccessedByGpu),
        &mut effects,
        |_, _| {},
    );
    driver.call(
        &call(
            BLOCK_BYTES..2 * BLOCK_BYTES,
            Action::PreferredLocation(Side::Cpu),
        ),
        &mut effects,
        |_, _| {},
    );
    assert!(!driver.count_remote(0, 40, 255));
    assert!(
        driver.count_remote(0, 40, 1),
        "the 256th access is reported"
    );
    assert!(!driver.count_remote(0, 40, 1), "and reported once");
    driver.service_counter(0, Picos::ZERO, &mut effects);
    assert_eq!(effects.fetched, PageMask::range(32..48));
    assert!(driver.count_remote(1, 40, 256));
    driver.service_counter(1, Picos::ZERO, &mut effects);
    assert!(effects.fetched.is_empty());
    assert_eq!(driver.touch(512 + 40), Touch::Remote);
}

#[test]
fn read_mostly_pages_are_dropped_and_stay_with_the_cpu() {
    let mut driver = two_blocks_one_chunk();
    let mut effects = Effects::default();
    driver.call(
        &Call {
            bytes: 0..2 * BLOCK_BYTES,
            action: Action::ReadMostly,
        },
        &mut effects,
        |_, _| {},
    );
    driver.service(0, &PageMask::from_iter([5]), Picos::ZERO, &mut effects);
    assert!(effects.host_unmapped.is_empty());
    driver.service(1, &PageMask::from_iter([5]), Picos::ZERO, &mut effects);
    assert_eq!(
        (driver.traffic().pages_out, driver.traffic().pages_dropped),
        (0, 1)
    );
}

#[test]
fn an_evicted_block_stays_mapped_where_accesses_are_counted() {
    for counted in [false, true] {
        let mut spec = DriverSpec::new(2 * BLOCK_BYTES, BLOCK_BYTES);
        spec.policy.access_counters = counted.then(AccessCounterSpec::default);
        let mut driver = Driver::new(&spec).expect("a valid driver");
        let mut effects = Effects::default();
        driver.service(0, &PageMask::from_iter([0]), Picos::ZERO, &mut effects);
        driver.service(1, &PageMask::from_iter([0]), Picos::ZERO, &mut effects);
        let expected = if counted { Touch::Remote } else { Touch::Fault };
        assert_eq!(driver.touch(0), expected);
    }
}

#[test]
fn sizes_that_no_driver_can_work_with_are_refused() {
    let message = |allocation, gpu| {
        Driver::new(&DriverSpec::new(allocation, gpu))
            .expect_err("refused")
            .to_string()
    };
    assert!(message(0, BLOCK_BYTES).contains("allocation of 0 B"));
    assert!(message(1, BLOCK_BYTES - 1).contains("2097151 B of GPU memory"));
    assert!(message(u64::MAX, BLOCK_BYTES).contains("8 TiB"));
}
