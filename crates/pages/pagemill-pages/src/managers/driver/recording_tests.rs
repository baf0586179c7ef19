//! What the page map says of every page is what the driver holds, whatever program and kernels do.

use crate::a100::a100_pcie4_x86;
use std::collections::BTreeMap;
use std::ops::Range;

use pagemill_map::{Effect, Map};
use pagemill_policy::residency::{
    AccessCounterSpec, Action, BLOCK_BYTES, BLOCK_PAGES, Call, DriverPolicy, GROWTHS, PAGE_BYTES,
    PageMask, Side, ThrashingSpec,
};
use pagemill_types::Picos;
use proptest::prelude::*;

use super::{DriverCosts, DriverMachine, DriverPages, FaultOrder, FaultSpec, Found, Waiter};
use crate::Timeline;
use crate::managers::events;
use crate::managers::host_link::HostLink;

const BASE: u64 = 1 << 40;
const BLOCKS: u32 = 5;

#[derive(Clone, Copy, Debug)]
struct Access {
    page: u32,
    writes: bool,
}

impl Waiter for Access {
    fn utlb(&self) -> u32 {
        self.page % 2
    }

    fn page(&self) -> u32 {
        self.page
    }

    fn writes(&self) -> bool {
        self.writes
    }

    fn warp(&self) -> u32 {
        self.page / 32
    }
}

#[derive(Clone, Debug)]
enum Deed {
    Kernel(Vec<Access>),
    Host(Range<u64>, bool),
    Call(Range<u64>, Action),
    Limit(u64),
    Free(Range<u64>),
}

fn deed() -> impl Strategy<Value = Deed> {
    let last = BLOCKS * BLOCK_PAGES - 100;
    let access = (0..last, any::<bool>()).prop_map(|(page, writes)| Access { page, writes });
    let bytes = (0..u64::from(last), 1u64..700).prop_map(move |(page, pages)| {
        page * PAGE_BYTES..(page + pages).min(u64::from(last)) * PAGE_BYTES
    });
    let action = prop::sample::select(vec![
        Action::PreferredLocation(Side::Cpu),
        Action::PreferredLocation(Side::Gpu),
        Action::NoPreferredLocation,
        Action::ReadMostly,
        Action::ReadMostly,
        Action::NotReadMostly,
        Action::AccessedByGpu,
        Action::NotAccessedByGpu,
        Action::Prefetch(Side::Gpu),
        Action::Prefetch(Side::Cpu),
        Action::Discard,
    ]);
    prop_oneof![
        4 => prop::collection::vec(access, 1..60).prop_map(Deed::Kernel),
        2 => (bytes.clone(), any::<bool>()).prop_map(|(bytes, writes)| Deed::Host(bytes, writes)),
        3 => (bytes.clone(), action).prop_map(|(bytes, action)| Deed::Call(bytes, action)),
        1 => (1u64..4).prop_map(|blocks| Deed::Limit(blocks * BLOCK_BYTES)),
        1 => bytes.prop_map(Deed::Free),
    ]
}

fn machine(growth: &str, counts: bool) -> DriverMachine {
    let ns = Picos::from_nanos;
    DriverMachine {
        faults: FaultSpec {
            utlb_outstanding: 8,
            batch_entries: 16,
            interrupt_latency: ns(1000),
            order: FaultOrder::Arrival,
        },
        costs: DriverCosts {
            batch: ns(2000),
            entry: ns(100),
            block: ns(500),
            chunk: ns(300),
            queue: Picos::ZERO,
            first_batch: Picos::ZERO,
            host_fault: ns(500),
            host_page_unmap: ns(10),
            host_page_populate: ns(5),
            eviction: ns(700),
            copy: Picos::ZERO,
            eviction_waits: false,
            replay: ns(400),
        },
        policy: DriverPolicy {
            growth: GROWTHS.find(growth).expect("it is listed"),
            thrashing: Some(ThrashingSpec::default()),
            access_counters: counts.then(|| AccessCounterSpec {
                threshold: 2,
                ..AccessCounterSpec::default()
            }),
            ..DriverPolicy::default()
        },
    }
}

/// Every access is made, and repeated while it faults; the kernel ends with its last access, whatever the driver does then.
fn kernel(
    pages: &mut DriverPages<Access>,
    mut now: Picos,
    accesses: &[Access],
    host_link: &mut HostLink,
) -> Picos {
    let mut awake = accesses.to_vec();
    let mut asleep = 0;
    loop {
        for access in awake.drain(..) {
            match pages.find(now, access.page, access.writes) {
                Found::Local(_) => pages.note_use(access.page),
                Found::Remote => pages.note_remote(now, access.page, 1),
                Found::Fault => {
                    pages.fault(now, access);
                    asleep += 1;
                }
                Found::Beyond => panic!("{access:?} is of an allocation"),
            }
        }
        if asleep == 0 {
            return now;
        }
        now = now.max(pages.due().expect("the driver is at work"));
        pages.advance_and_recheck(now, host_link, &mut awake);
        asleep -= awake.len();
    }
}

fn run(pages: &mut DriverPages<Access>, deeds: &[Deed], host_link: &mut HostLink) -> Picos {
    let mut now = Picos::ZERO;
    for deed in deeds {
        now = match deed {
            Deed::Kernel(accesses) => kernel(pages, now, accesses, host_link),
            Deed::Host(bytes, writes) => pages.host_touch(now, bytes.clone(), *writes, host_link).0,
            Deed::Call(bytes, action) => {
                let (bytes, action) = (bytes.clone(), *action);
                pages.call(now, &Call { bytes, action }, host_link).1
            }
            Deed::Limit(bytes) => {
                pages.limit(now, *bytes, host_link);
                now
            }
            Deed::Free(bytes) => {
                pages.free(now, bytes.clone(), host_link);
                now
            }
        };
    }
    now
}

/// By block, the pages that its history says are in GPU memory, and those of them that CPU memory has as well.
fn replayed(map: &Map) -> BTreeMap<u64, (PageMask, PageMask)> {
    let of_page = |(page, events): &(u64, Vec<pagemill_map::Event>)| {
        let (mut there, mut both) = (PageMask::EMPTY, PageMask::EMPTY);
        for event in events {
            let range = event.range();
            let pages =
                PageMask::range(range.start / PAGE_BYTES as u32..range.end / PAGE_BYTES as u32);
            let cause = &map.legend.causes[usize::from(event.cause)];
            match cause.effect {
                Effect::Arrive => there = there.or(&pages),
                Effect::Leave => {
                    there = there.without(&pages);
                    both = both.without(&pages);
                }
                Effect::Mark if cause.name == "duplicated" => both = both.or(&pages),
                Effect::Mark if cause.name == "copy void" => both = both.without(&pages),
                Effect::Mark | Effect::Repeat => {}
            }
        }
        (*page, (there, both))
    };
    map.pages.iter().map(of_page).collect()
}

fn check(growth: &str, counts: bool, deeds: &[Deed]) -> Result<(), TestCaseError> {
    let bytes = u64::from(BLOCKS * BLOCK_PAGES - 100) * PAGE_BYTES;
    let mut timeline = Timeline::with_limit(0);
    timeline.record_pages(BLOCK_BYTES, events::legend(events::BATCH));
    let mut host_link = HostLink::new(a100_pcie4_x86().link, timeline);
    if let Some(recorder) = host_link.timeline.pages() {
        recorder.allocated("data", BASE, bytes);
    }
    let machine = machine(growth, counts);
    let mut pages = DriverPages::empty(&machine, 2, 3 * BLOCK_BYTES, BASE);
    pages.allocate(0..bytes);
    let end = run(&mut pages, deeds, &mut host_link);
    // What is still decided and not copied is copied by the next call.
    pages.limit(end, 3 * BLOCK_BYTES, &mut host_link);
    let map = host_link.timeline.finish_pages(end, 1);
    let map = Map::decode(&map).expect("a map");
    prop_assert_eq!((map.sampled_bits, map.full_ps), (0, None));
    let replayed = replayed(&map);
    for block in 0..BLOCKS {
        let page = BASE / BLOCK_BYTES + u64::from(block);
        let (there, both) = replayed.get(&page).copied().unwrap_or_default();
        let driver = pages.handler.driver();
        prop_assert_eq!(&there, driver.resident(block), "block {}", block);
        let alone = there.without(&both);
        prop_assert_eq!(alone, driver.only_on_gpu(block), "block {}", block);
    }
    let moved = |names: &[&str]| -> u64 {
        let is_one =
            |cause: u8| names.contains(&map.legend.causes[usize::from(cause)].name.as_str());
        let events = map.pages.iter().flat_map(|(_, events)| events);
        let own = events.filter(|event| is_one(event.cause));
        own.map(|event| u64::from(event.bytes)).sum()
    };
    let counts = pages.counts();
    let came = moved(&["fault", "moved along", "access counter", "prefetch"]);
    prop_assert_eq!(came, counts.migrated_bytes);
    prop_assert_eq!(moved(&["first touch"]), counts.populated_bytes);
    let again: u64 = map.tiles.iter().map(|tile| tile.repeated).sum();
    prop_assert_eq!(again, counts.refetched_bytes);
    Ok(())
}

proptest! {
    #[test]
    fn histories_are_what_the_driver_holds(
        growth in prop::sample::select(vec!["density-tree", "big-page", "host-page"]),
        counts: bool,
        deeds in prop::collection::vec(deed(), 1..14),
    ) {
        check(growth, counts, &deeds)?;
    }
}
