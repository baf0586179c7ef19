//! Deeds to picoseconds: one batch, one eviction, one call, each by hand from the table of costs of ADR 0032.
//!
//! A page is 4 KiB. The link takes 1,024 ns for one to the GPU and 4,096 ns for one to the CPU, 700 ns after it was asked, or after the set-up of
//! the copy where that is later. The GPU holds one block.

use pagemill_policy::residency::{
    Action, BLOCK_BYTES, BLOCK_PAGES, Call, DriverPolicy, GROWTHS, PAGE_BYTES, Side,
};
use pagemill_types::{Bandwidth, Picos};

use super::{
    DriverCosts, DriverMachine, DriverPages, FaultOrder, FaultSpec, Found, HandlerCounts, Waiter,
};
use crate::Timeline;
use crate::managers::host_link::HostLink;
use crate::parts::link::LinkSpec;

/// In nanoseconds; no two sums of a few of them are the same.
const INTERRUPT: u64 = 1_000;
const BATCH: u64 = 2_000;
const ENTRY: u64 = 110;
const BLOCK: u64 = 503;
const CHUNK: u64 = 307;
const UNMAP: u64 = 13;
const POPULATE: u64 = 5;
const QUEUE: u64 = 41;
const SETUP: u64 = 29;
const EVICTION: u64 = 601;
const REPLAY: u64 = 401;
const FIRST: u64 = 7_000;
const HOST_FAULT: u64 = 907;
const LATENCY: u64 = 700;
const TO_GPU: u64 = 1_024;
const TO_CPU: u64 = 4_096;

#[derive(Clone, Copy, Debug)]
struct Access(u32);

impl Waiter for Access {
    fn utlb(&self) -> u32 {
        0
    }

    fn page(&self) -> u32 {
        self.0
    }

    fn writes(&self) -> bool {
        true
    }

    fn warp(&self) -> u32 {
        0
    }
}

struct Bench {
    pages: DriverPages<Access>,
    link: HostLink,
}

impl Bench {
    /// Two blocks, which the CPU has mapped and written.
    fn new(eviction_waits: bool) -> Self {
        let ns = Picos::from_nanos;
        let machine = DriverMachine {
            faults: FaultSpec {
                utlb_outstanding: 8,
                batch_entries: 16,
                interrupt_latency: ns(INTERRUPT),
                order: FaultOrder::Arrival,
            },
            costs: DriverCosts {
                batch: ns(BATCH),
                entry: ns(ENTRY),
                block: ns(BLOCK),
                chunk: ns(CHUNK),
                host_page_unmap: ns(UNMAP),
                host_page_populate: ns(POPULATE),
                queue: ns(QUEUE),
                copy: ns(SETUP),
                eviction: ns(EVICTION),
                eviction_waits,
                replay: ns(REPLAY),
                first_batch: ns(FIRST),
                host_fault: ns(HOST_FAULT),
            },
            policy: DriverPolicy {
                growth: GROWTHS.find("host-page").expect("it is listed"),
                thrashing: None,
                ..DriverPolicy::default()
            },
        };
        let rate = |bytes| Bandwidth::new(bytes).expect("it is not zero");
        let link = LinkSpec {
            to_gpu: rate(4_000_000_000),
            to_cpu: rate(1_000_000_000),
            latency: ns(LATENCY),
            payload_bytes: 0,
            header_bytes: 0,
            reads: None,
        };
        let mut pages = DriverPages::empty(&machine, 1, BLOCK_BYTES, 1 << 40);
        pages.allocate(0..2 * BLOCK_BYTES);
        pages.first_touched_by_host(0..2 * BLOCK_BYTES);
        Self {
            pages,
            link: HostLink::new(link, Timeline::with_limit(0)),
        }
    }

    /// A kernel that begins at `at_ns` writes to pages, all of which fault; when it goes on.
    fn kernel(&mut self, at_ns: u64, written: &[u32]) -> u64 {
        let at = Picos::from_nanos(at_ns);
        for &page in written {
            assert_eq!(self.pages.find(at, page, true), Found::Fault, "page {page}");
            self.pages.fault(at, Access(page));
        }
        let (mut now, mut awake) = (at, Vec::new());
        while awake.is_empty() {
            now = self.pages.due().expect("the driver is at work");
            self.pages.advance(now, &mut self.link, &mut awake);
        }
        assert_eq!(awake.len(), written.len());
        self.pages.release_blocked(now, &mut Vec::new());
        now.as_nanos()
    }

    fn counts(&self) -> HandlerCounts {
        self.pages.handler.counts
    }
}

/// Up to the decision of a block: the driver wakes, takes the batch and its entries.
fn taken(entries: u64) -> u64 {
    INTERRUPT + BATCH + entries * ENTRY
}

/// What the driver does for a block of which `pages` without a gap move.
fn decided(pages: u64) -> u64 {
    BLOCK + CHUNK + pages * UNMAP + QUEUE
}

#[test]
fn a_batch_of_one_page() {
    let mut bench = Bench::new(false);
    let arrived = taken(1) + FIRST + decided(1) + LATENCY + SETUP + TO_GPU;
    // The replay waits until the page is there.
    assert_eq!(bench.kernel(0, &[0]), arrived + REPLAY);
    let first_free = Picos::from_nanos(arrived);
    assert_eq!(
        bench.pages.find(Picos::ZERO, 0, true),
        Found::Local(first_free)
    );
    assert_eq!(bench.counts().busy.as_nanos(), arrived + REPLAY - INTERRUPT);
}

#[test]
fn what_lies_beyond_an_allocation_is_not_waited_for() {
    let mut bench = Bench::new(false);
    let first = 2 * BLOCK_BYTES;
    bench.pages.allocate(first..first + 2 * PAGE_BYTES);
    let page = (first / PAGE_BYTES) as u32;
    let find = |page| bench.pages.find(Picos::ZERO, page, false);
    assert_eq!(
        [find(page), find(page + 1), find(page + 2)],
        [Found::Fault, Found::Fault, Found::Beyond]
    );
}

#[test]
fn entries_stretches_and_pages_each_cost() {
    let mut bench = Bench::new(false);
    bench.kernel(0, &[0]);
    // Three pages in two stretches, in a block that has its memory.
    let decided = BLOCK + 3 * UNMAP + 2 * QUEUE;
    let arrived = taken(3) + decided + LATENCY + 2 * SETUP + 3 * TO_GPU;
    assert_eq!(
        bench.kernel(100_000, &[8, 4, 5]),
        100_000 + arrived + REPLAY
    );
}

#[test]
fn the_replay_waits_for_what_leaves_too() {
    let mut bench = Bench::new(false);
    bench.kernel(0, &[0]);
    let block = taken(1);
    // The copy back is queued, and the driver goes on; the page that comes is there before the one that leaves.
    let gone = block + EVICTION + QUEUE + LATENCY + SETUP + TO_CPU;
    let came = block + EVICTION + QUEUE + decided(1) + LATENCY + SETUP + TO_GPU;
    assert!(came < gone);
    assert_eq!(
        bench.kernel(100_000, &[BLOCK_PAGES]),
        100_000 + gone + REPLAY
    );
    assert_eq!(bench.counts().evictions, 1);
}

#[test]
fn a_driver_that_waits_for_evictions_decides_after_them() {
    let mut bench = Bench::new(true);
    bench.kernel(0, &[0]);
    let gone = taken(1) + EVICTION + QUEUE + LATENCY + SETUP + TO_CPU;
    let came = gone + decided(1) + LATENCY + SETUP + TO_GPU;
    assert_eq!(
        bench.kernel(100_000, &[BLOCK_PAGES]),
        100_000 + came + REPLAY
    );
}

#[test]
fn a_call_ends_with_its_last_copy_whichever_way_that_goes() {
    let prefetch = |page: u64, side| Call {
        bytes: page * PAGE_BYTES..(page + 1) * PAGE_BYTES,
        action: Action::Prefetch(side),
    };
    let mut bench = Bench::new(false);
    bench.kernel(0, &[0]);
    let call = prefetch(u64::from(BLOCK_PAGES), Side::Gpu);
    let (driver, done) = (bench.pages).call(Picos::from_nanos(100_000), &call, &mut bench.link);
    let decided = EVICTION + QUEUE + decided(1);
    let gone = EVICTION + QUEUE + LATENCY + SETUP + TO_CPU;
    assert!(decided + LATENCY + SETUP + TO_GPU < gone);
    assert_eq!(driver.as_nanos(), 100_000 + decided);
    assert_eq!(done.as_nanos(), 100_000 + gone);
    // Without an eviction, the copy to the GPU is the last.
    let call = prefetch(u64::from(BLOCK_PAGES) + 1, Side::Gpu);
    let (_, done) = (bench.pages).call(Picos::from_nanos(200_000), &call, &mut bench.link);
    let decided = BLOCK + UNMAP + QUEUE;
    assert_eq!(
        done.as_nanos(),
        200_000 + decided + LATENCY + SETUP + TO_GPU
    );
}

#[test]
fn the_cpu_waits_for_its_fault_and_the_copy() {
    let mut bench = Bench::new(false);
    bench.kernel(0, &[3]);
    let (bytes, at) = (0..BLOCK_BYTES, Picos::from_nanos(100_000));
    let (done, moved) = bench.pages.host_touch(at, bytes, true, &mut bench.link);
    assert_eq!(moved, PAGE_BYTES);
    assert_eq!(done.as_nanos(), 100_000 + HOST_FAULT + LATENCY + TO_CPU);
}
