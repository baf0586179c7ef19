//! Valid ranges against a model that keeps, for every single byte, when it is in GPU memory.

use super::{
    AfterFullBuffer, Asker, CpuReturn, HostLink, MergeScope, PageRequest, Ranges, RangesSpec,
    Touch, Validity,
};
use crate::parts::link::{Direction, LinkSpec};
use crate::timeline::Timeline;
use pagemill_policy::migration::{MigrationSpec, POLICIES, PolicyEntry};
use pagemill_testkit::looker::{Looker, Seen};
use pagemill_types::{Bandwidth, PageSize, Picos};
use proptest::prelude::*;

const PAGE: u64 = 2048;
const PAGES: u64 = 4;
const UNIT: u64 = 256;
const PARTITIONS: usize = 3;
const ENTRIES: usize = 2;
const LATENCY: u64 = 300_000;
const CYCLE: u64 = 1_000;

fn gmmu(cpu_return: CpuReturn) -> RangesSpec {
    RangesSpec {
        buffers: PARTITIONS as u32,
        buffer_entries: ENTRIES as u32,
        query: Picos(5 * CYCLE),
        update: Picos(7 * CYCLE),
        cpu_return,
        ..RangesSpec::free(None)
    }
}

fn link() -> LinkSpec {
    LinkSpec {
        to_gpu: Bandwidth::new(1_000_000_000).unwrap(),
        to_cpu: Bandwidth::new(1_000_000_000).unwrap(),
        latency: Picos(LATENCY),
        payload_bytes: 0,
        header_bytes: 0,
        reads: None,
    }
}

fn segment_at(address: u64, asker: Asker) -> PageRequest {
    PageRequest {
        address,
        bytes: 128,
        asker,
    }
}

/// A second implementation, as slow and as plain as can be. One byte takes one nanosecond on the link.
struct ByteMap {
    whole_page: bool,
    /// When the byte is there; `None` while it is in CPU memory.
    arrival: Vec<Option<u64>>,
    buffers: Vec<Vec<u64>>,
    link_free: [u64; 2],
    migrated: u64,
    returned: u64,
}

impl ByteMap {
    fn new(whole_page: bool) -> Self {
        Self {
            whole_page,
            arrival: vec![None; (PAGE * PAGES) as usize],
            buffers: vec![Vec::new(); PARTITIONS],
            link_free: [0; 2],
            migrated: 0,
            returned: 0,
        }
    }

    /// When a request goes on.
    fn gpu_request(&mut self, at: u64, address: u64, partition: usize) -> u64 {
        let page = address / PAGE * PAGE;
        let page_bytes = page as usize..(page + PAGE) as usize;
        if self.arrival[page_bytes]
            .iter()
            .all(|byte| byte.is_some_and(|arrival| arrival <= at))
        {
            return at;
        }
        let known = at + 5 * CYCLE;
        let segment = address as usize..(address + 128) as usize;
        if self.arrival[segment.clone()].iter().any(Option::is_none) {
            let wanted = if self.whole_page {
                page..page + PAGE
            } else {
                address / UNIT * UNIT..address / UNIT * UNIT + UNIT
            };
            // Validity only ever changes by whole units, so what is missing of a unit is all of it.
            let entries = &mut self.buffers[partition];
            entries.sort_unstable();
            entries.retain(|&release| release > known);
            let start = if entries.len() == ENTRIES {
                entries.remove(0)
            } else {
                known
            };
            let busy = (wanted.end - wanted.start) * 1000;
            let bytes = wanted.end - wanted.start;
            // A request that waits for an entry takes its turn on the link when it comes.
            self.link_free[0] = (known + LATENCY).max(self.link_free[0]) + busy;
            let done = self.link_free[0].max(start + LATENCY + busy);
            self.migrated += bytes;
            self.buffers[partition].push(done + 7 * CYCLE);
            for byte in wanted {
                assert!(self.arrival[byte as usize].is_none());
                self.arrival[byte as usize] = Some(done + 7 * CYCLE);
            }
        }
        self.arrival[segment]
            .iter()
            .flatten()
            .copied()
            .max()
            .unwrap()
            .max(known)
    }

    fn cpu_request(&mut self, at: u64, from: u64, to: u64, cpu_return: CpuReturn) -> u64 {
        let mut last = at;
        for page in from / PAGE..=(to - 1) / PAGE {
            let bytes = &mut self.arrival[(page * PAGE) as usize..((page + 1) * PAGE) as usize];
            let valid = bytes.iter().flatten().count() as u64;
            if valid == 0 {
                continue;
            }
            let landed = bytes.iter().flatten().copied().max().unwrap().max(at);
            let moved = if cpu_return == CpuReturn::Valid {
                valid
            } else {
                PAGE
            };
            self.link_free[1] = (at + LATENCY).max(self.link_free[1]) + moved * 1000;
            let done = self.link_free[1].max(landed + LATENCY + moved * 1000);
            self.returned += moved;
            last = last.max(done);
            bytes.fill(None);
        }
        last
    }
}

#[derive(Clone, Debug)]
enum Action {
    Gpu { segment: u64, partition: usize },
    Cpu { from: u64, bytes: u64 },
}

fn action() -> impl Strategy<Value = (u64, Action)> {
    let gpu = (0..PAGE * PAGES / 128, 0..PARTITIONS)
        .prop_map(|(segment, partition)| Action::Gpu { segment, partition });
    let cpu = (0..PAGE * PAGES, 1..PAGE).prop_map(|(from, bytes)| Action::Cpu {
        from,
        bytes: bytes.min(PAGE * PAGES - from),
    });
    (0u64..2_000_000, prop_oneof![8 => gpu, 1 => cpu])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn equals_the_byte_map(
        whole_page in any::<bool>(), valid_only in any::<bool>(),
        actions in prop::collection::vec(action(), 1..120),
    ) {
        let cpu_return = if valid_only { CpuReturn::Valid } else { CpuReturn::WholePage };
        let gmmu = gmmu(cpu_return);
        let mut spec = MigrationSpec::new(PageSize::new(PAGE).unwrap(), POLICIES.find(if whole_page { "whole-page" } else { "multi-range" }).unwrap());
        spec.unit_bytes = UNIT as u32;
        let mut ranges = Ranges::new(gmmu, spec.build().unwrap(), 0);
        ranges.grow(PAGE * PAGES);
        let mut host_link = HostLink::new(link(), Timeline::with_limit(0));
        let mut model = ByteMap::new(whole_page);
        let mut at = 0;
        for (gap, action) in actions {
            at += gap;
            match action {
                Action::Gpu { segment, partition } => {
                    let address = segment * 128;
                    let got = match ranges.touch(Picos(at), segment_at(address, Asker { sm: 0, partition }), &mut host_link) {
                        Touch::Here(at) | Touch::Arrives(at) => at.0,
                        other => unreachable!("{other:?}"),
                    };
                    prop_assert_eq!(got, model.gpu_request(at, address, partition));
                }
                Action::Cpu { from, bytes } => {
                    let (done, _) = ranges.cpu_request(Picos(at), from, bytes, &mut host_link);
                    prop_assert_eq!(done.0, model.cpu_request(at, from, from + bytes, cpu_return));
                    // The host waits for its pages.
                    at = at.max(done.0);
                }
            }
            prop_assert_eq!(host_link.link.traffic(Direction::ToGpu).bytes, model.migrated);
            prop_assert_eq!(host_link.link.traffic(Direction::ToCpu).bytes, model.returned);
            let resident = model.arrival.iter().flatten().count() as u64;
            prop_assert_eq!(ranges.resident_bytes(), resident);
            if valid_only {
                prop_assert_eq!(model.migrated, model.returned + resident, "bytes came from nowhere");
            }
        }
        let counts = ranges.counts();
        prop_assert_eq!(counts.migrated_bytes, model.migrated);
        prop_assert_eq!(counts.returned_bytes, model.returned);
    }
}

#[test]
fn a_full_memory_moves_the_least_recently_used_page_out() {
    let mut gmmu = gmmu(CpuReturn::WholePage);
    gmmu.memory_bytes = Some(2 * PAGE);
    let spec = MigrationSpec::new(
        PageSize::new(PAGE).unwrap(),
        POLICIES.find("whole-page").unwrap(),
    );
    let mut ranges = Ranges::new(gmmu, spec.build().unwrap(), 0);
    ranges.grow(PAGE * PAGES);
    let mut host_link = HostLink::new(link(), Timeline::with_limit(10));
    let mut request = |at: u64, page: u64| {
        let asker = Asker {
            sm: 0,
            partition: 0,
        };
        ranges.touch(Picos(at), segment_at(page * PAGE, asker), &mut host_link)
    };
    let second = 1_000_000_000;
    request(0, 0);
    request(second, 1);
    assert_eq!(request(2 * second, 0), Touch::Here(Picos(2 * second)));
    // Page 1 is the older one now. Its way out comes before page 2's way in.
    let out = LATENCY + PAGE * 1000;
    let fetched = 3 * second + 5 * CYCLE + out + LATENCY + PAGE * 1000 + 7 * CYCLE;
    assert_eq!(request(3 * second, 2), Touch::Arrives(Picos(fetched)));
    assert_eq!(ranges.moves.left, std::slice::from_ref(&(PAGE..2 * PAGE)));
    assert_eq!(ranges.moves.came, std::slice::from_ref(&(0..3 * PAGE)));
    assert_eq!(ranges.counts().evictions, 1);
    assert_eq!(ranges.resident_bytes(), 2 * PAGE);
}

/// Ranges of whole pages or of 256-byte units, asked by hand.
struct Bench {
    ranges: Ranges,
    host_link: HostLink,
}

impl Bench {
    fn new(gmmu: &RangesSpec, policy: &str) -> Self {
        let page = PageSize::new(PAGE).unwrap();
        let mut spec = MigrationSpec::new(page, POLICIES.find(policy).unwrap());
        spec.unit_bytes = UNIT as u32;
        let mut ranges = Ranges::new(*gmmu, spec.build().unwrap(), 0);
        ranges.grow(PAGE * PAGES);
        Self {
            ranges,
            host_link: HostLink::new(link(), Timeline::with_limit(0)),
        }
    }

    /// Nanoseconds at which the request goes on.
    fn request(&mut self, at_ns: u64, address: u64, partition: usize) -> u64 {
        self.request_of(at_ns, address, Asker { sm: 0, partition })
    }

    fn request_of(&mut self, at_ns: u64, address: u64, asker: Asker) -> u64 {
        let at = Picos::from_nanos(at_ns);
        match self
            .ranges
            .touch(at, segment_at(address, asker), &mut self.host_link)
        {
            Touch::Here(at) | Touch::Arrives(at) => at.as_nanos(),
            other => unreachable!("{other:?}"),
        }
    }

    fn cpu_request(&mut self, at_ns: u64, bytes: u64) -> (u64, u64) {
        let at = Picos::from_nanos(at_ns);
        let (done, moved) = self.ranges.cpu_request(at, 0, bytes, &mut self.host_link);
        (done.as_nanos(), moved)
    }

    /// Bytes on the link, of those what was moved more than once, and what is on the GPU.
    fn bytes(&self) -> (u64, u64, u64) {
        let counts = self.ranges.counts();
        let on_the_link = self.host_link.link.traffic(Direction::ToGpu).bytes;
        assert_eq!(counts.migrated_bytes, on_the_link);
        assert_eq!(
            on_the_link,
            counts.repeated_bytes + counts.returned_bytes + self.ranges.resident_bytes(),
            "bytes came from nowhere"
        );
        // What came back after a return is no repetition of bytes on the way.
        assert!(counts.refetched_bytes <= counts.returned_bytes);
        (
            on_the_link,
            counts.repeated_bytes,
            self.ranges.resident_bytes(),
        )
    }
}

/// With 5 ns of query, 300 ns of latency, 2048 ns on the wire and 7 ns of update.
const FIRST_PAGE_NS: u64 = 5 + 300 + 2048 + 7;

fn merging(merge: MergeScope) -> RangesSpec {
    let mut gmmu = gmmu(CpuReturn::Valid);
    gmmu.merge = merge;
    gmmu
}

#[test]
fn requests_of_the_whole_gpu_share_a_migration() {
    let mut bench = Bench::new(&merging(MergeScope::Gpu), "whole-page");
    for (at, partition) in [(0, 0), (10, 0), (20, 1), (30, 2)] {
        assert_eq!(bench.request(at, at / 10 * 128, partition), FIRST_PAGE_NS);
    }
    assert_eq!(bench.bytes(), (PAGE, 0, PAGE));
    assert_eq!(bench.ranges.counts().joined_requests, 3);
}

#[test]
fn partitions_that_do_not_share_move_the_page_each_for_itself() {
    let mut bench = Bench::new(&merging(MergeScope::Partition), "whole-page");
    assert_eq!(bench.request(0, 0, 0), FIRST_PAGE_NS);
    assert_eq!(bench.request(10, 128, 0), FIRST_PAGE_NS);
    // Its own transfer waits for the wire behind the first.
    assert_eq!(bench.request(20, 256, 1), FIRST_PAGE_NS + 2048);
    assert_eq!(bench.request(30, 384, 1), FIRST_PAGE_NS + 2048);
    assert_eq!(bench.request(40, 512, 2), FIRST_PAGE_NS + 2 * 2048);
    assert_eq!(bench.bytes(), (3 * PAGE, 2 * PAGE, PAGE));
    assert_eq!(bench.ranges.counts().joined_requests, 2);
    // The first transfer has made the page valid, so it does not move again. Its state is still looked up.
    assert_eq!(bench.request(FIRST_PAGE_NS, 128, 1), FIRST_PAGE_NS + 5);
    let all = FIRST_PAGE_NS + 2 * 2048;
    assert_eq!(bench.request(all, 128, 2), all);
    assert_eq!(bench.bytes(), (3 * PAGE, 2 * PAGE, PAGE));
}

#[test]
fn sms_that_do_not_share_move_the_page_each_for_itself() {
    let mut bench = Bench::new(&merging(MergeScope::Sm), "whole-page");
    let mut request =
        |at, address, sm, partition| bench.request_of(at, address, Asker { sm, partition });
    assert_eq!(request(0, 0, 4, 0), FIRST_PAGE_NS);
    // Another partition of the same SM joins, another SM in the same partition does not.
    assert_eq!(request(10, 128, 4, 1), FIRST_PAGE_NS);
    assert_eq!(request(20, 0, 7, 0), FIRST_PAGE_NS + 2048);
    assert_eq!(request(30, 384, 7, 2), FIRST_PAGE_NS + 2048);
    assert_eq!(bench.bytes(), (2 * PAGE, PAGE, PAGE));
    assert_eq!(bench.ranges.counts().joined_requests, 2);
}

#[test]
fn requests_that_merge_with_none_move_the_page_every_time() {
    let mut bench = Bench::new(&merging(MergeScope::Nothing), "whole-page");
    assert_eq!(bench.request(0, 0, 0), FIRST_PAGE_NS);
    assert_eq!(bench.request(10, 128, 0), FIRST_PAGE_NS + 2048);
    // Both entries of the partition are taken: this one starts when the first frees.
    let third = FIRST_PAGE_NS + 300 + 2048 + 7;
    assert!(
        third < FIRST_PAGE_NS + 2 * 2048,
        "the wire is the later one"
    );
    assert_eq!(bench.request(20, 0, 0), FIRST_PAGE_NS + 2 * 2048);
    assert_eq!(bench.request(30, 0, 1), FIRST_PAGE_NS + 3 * 2048);
    assert_eq!(bench.bytes(), (4 * PAGE, 3 * PAGE, PAGE));
    assert_eq!(bench.ranges.counts().buffer_stalls, 1);
}

#[test]
fn only_the_unit_on_the_way_moves_again() {
    let mut bench = Bench::new(&merging(MergeScope::Partition), "multi-range");
    let first = 5 + 300 + 256 + 7;
    assert_eq!(bench.request(0, 0, 0), first);
    assert_eq!(bench.request(1, 128, 1), first + 256);
    assert_eq!(bench.request(2, 256, 1), first + 2 * 256);
    assert_eq!(bench.bytes(), (3 * UNIT, UNIT, 2 * UNIT));
}

#[test]
fn the_cpu_waits_for_transfers_that_were_made_twice() {
    let mut bench = Bench::new(&merging(MergeScope::Partition), "whole-page");
    bench.request(0, 0, 0);
    bench.request(10, 0, 1);
    let landed = FIRST_PAGE_NS + 2048;
    assert_eq!(bench.cpu_request(20, 1), (landed + 300 + 2048, PAGE));
    assert_eq!(bench.bytes(), (2 * PAGE, PAGE, 0));
    // What was on the way before the page left is forgotten.
    let again = landed + 300 + 2048;
    assert_eq!(bench.request(again, 0, 1), again + FIRST_PAGE_NS);
    assert_eq!(bench.bytes(), (3 * PAGE, PAGE, PAGE));
    assert_eq!(bench.ranges.counts().refetched_bytes, PAGE);
}

#[test]
fn only_what_was_there_before_is_fetched_again() {
    let mut bench = Bench::new(&merging(MergeScope::Gpu), "multi-range");
    bench.request(0, 0, 0);
    bench.request(0, 2 * UNIT, 0);
    let (back, moved) = bench.cpu_request(10_000, 1);
    assert_eq!(moved, 2 * UNIT);
    bench.request(back, 0, 0);
    bench.request(back, UNIT, 0);
    assert_eq!(bench.ranges.counts().refetched_bytes, UNIT);
    assert_eq!(bench.bytes(), (4 * UNIT, 0, 2 * UNIT));
}

#[test]
fn migrations_that_do_not_overlap_wait_for_each_other() {
    let mut gmmu = merging(MergeScope::Gpu);
    let unit = 300 + 256 + 7;
    let mut bench = Bench::new(&gmmu, "multi-range");
    assert_eq!(bench.request(0, 0, 0), 5 + unit);
    assert_eq!(
        bench.request(0, PAGE, 1),
        5 + unit + 256,
        "latencies overlap"
    );
    gmmu.concurrent = Some(1);
    let mut bench = Bench::new(&gmmu, "multi-range");
    assert_eq!(bench.request(0, 0, 0), 5 + unit);
    assert_eq!(bench.request(0, PAGE, 1), 5 + 2 * unit);
    assert_eq!(
        bench.request(0, 128, 2),
        5 + unit,
        "a request that joins needs none"
    );
    assert_eq!(bench.request(0, 2 * PAGE, 1), 5 + 3 * unit);
    gmmu.concurrent = Some(2);
    let mut bench = Bench::new(&gmmu, "multi-range");
    bench.request(0, 0, 0);
    assert_eq!(bench.request(0, PAGE, 1), 5 + unit + 256);
    assert_eq!(bench.request(0, 2 * PAGE, 2), 5 + 2 * unit);
}

/// Where a byte is, or that it is no data. A third model: no times, all else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Byte {
    Untouched,
    Cpu,
    Gpu,
    Beyond,
}

/// What is done to the bytes `from..to`.
#[derive(Clone, Copy, Debug)]
enum Use {
    Kernel,
    Prefetch,
    HostFirst,
    HostRequest,
}

fn uses() -> impl Strategy<Value = (Use, u64, u64)> {
    let what = prop_oneof![
        4 => Just(Use::Kernel),
        1 => Just(Use::Prefetch),
        2 => Just(Use::HostFirst),
        1 => Just(Use::HostRequest),
    ];
    (what, 0..PAGE * PAGES, 1..PAGE)
        .prop_map(|(what, from, bytes)| (what, from, (from + bytes).min(PAGE * PAGES)))
}

proptest! {
    #[test]
    fn nothing_moves_for_bytes_that_no_side_has_touched(
        whole_page in any::<bool>(), untouched_pages in 0..=PAGES, uses in prop::collection::vec(uses(), 1..60),
    ) {
        let unit = if whole_page { PAGE } else { UNIT };
        let mut bench = Bench::new(&gmmu(CpuReturn::Valid), if whole_page { "whole-page" } else { "multi-range" });
        let mut model = vec![Byte::Cpu; (PAGE * PAGES) as usize];
        // As an allocation that fills its last page half.
        let untouched_bytes = (untouched_pages * PAGE).saturating_sub(PAGE / 2);
        bench.ranges.start_untouched(0, untouched_bytes);
        model[..(untouched_pages * PAGE) as usize].fill(Byte::Untouched);
        model[untouched_bytes as usize..(untouched_pages * PAGE) as usize].fill(Byte::Beyond);
        let (mut populated, mut migrated, mut returned) = (0, 0, 0);
        for (number, (what, from, to)) in (0_u64..).zip(uses) {
            let at = number * 1_000_000;
            match what {
                Use::Kernel | Use::Prefetch => {
                    // A request is of one segment.
                    let is_kernel = matches!(what, Use::Kernel);
                    let (from, to) = if is_kernel { (from / 128 * 128, from / 128 * 128 + 128) } else { (from, to) };
                    if is_kernel {
                        bench.request(at, from, 0);
                    } else {
                        let _ = bench.ranges.prefetch(Picos::from_nanos(at), from, to - from, &mut bench.host_link);
                    }
                    let asked = &mut model[(from / unit * unit) as usize..to.next_multiple_of(unit) as usize];
                    for byte in asked.iter_mut().filter(|byte| **byte != Byte::Beyond) {
                        populated += u64::from(*byte == Byte::Untouched);
                        migrated += u64::from(*byte == Byte::Cpu);
                        *byte = Byte::Gpu;
                    }
                }
                Use::HostFirst => bench.ranges.touched_by_host(from, to - from),
                Use::HostRequest => {
                    bench.ranges.cpu_request(Picos::from_nanos(at), from, to - from, &mut bench.host_link);
                    for byte in &mut model[(from / PAGE * PAGE) as usize..to.next_multiple_of(PAGE) as usize] {
                        if *byte == Byte::Gpu {
                            *byte = Byte::Cpu;
                            returned += 1;
                        }
                    }
                }
            }
            if matches!(what, Use::HostFirst | Use::HostRequest) {
                for byte in &mut model[from as usize..to as usize] {
                    if *byte == Byte::Untouched {
                        *byte = Byte::Cpu;
                    }
                }
            }
            let counts = bench.ranges.counts();
            let counted = (counts.populated_bytes, counts.migrated_bytes, counts.returned_bytes);
            prop_assert_eq!(counted, (populated, migrated, returned));
            prop_assert_eq!(bench.host_link.link.traffic(Direction::ToGpu).bytes, migrated);
            prop_assert_eq!(bench.host_link.link.traffic(Direction::ToCpu).bytes, returned);
            let resident = model.iter().filter(|byte| **byte == Byte::Gpu).count() as u64;
            prop_assert_eq!(bench.ranges.resident_bytes(), resident);
        }
    }
}

#[test]
fn a_first_touch_takes_query_and_update_and_is_shared() {
    for merge in [MergeScope::Gpu, MergeScope::Nothing] {
        let mut bench = Bench::new(&merging(merge), "whole-page");
        bench.ranges.start_untouched(0, PAGE);
        for (at, partition) in [(0, 0), (2, 1)] {
            assert_eq!(bench.request(at, 0, partition), 5 + 7);
        }
        assert_eq!(bench.host_link.link.traffic(Direction::ToGpu).bytes, 0);
        assert_eq!(bench.ranges.counts().populated_bytes, PAGE);
        assert_eq!(bench.ranges.counts().migrations, 0);
        assert_eq!(bench.cpu_request(100, 1).1, PAGE, "what a kernel wrote");
    }
}

/// Both entries of partition 0 hold a unit; the third request finds them full. Each request and each answer in nanoseconds.
#[test]
fn a_request_that_found_the_buffer_full_looks_up_again() {
    let mut gmmu = merging(MergeScope::Nothing);
    gmmu.validity = Validity::AtArrival;
    let first = 5 + 300 + 256 + 7;
    // It moves the unit that it found on its way, although that is there when an entry is free.
    let mut bench = Bench::new(&gmmu, "multi-range");
    assert_eq!(bench.request(0, 0, 0), first);
    assert_eq!(bench.request(0, 2 * UNIT, 0), first + 256);
    assert_eq!(bench.request(10, 0, 0), first + 300 + 256 + 7);
    bench.ranges.land_everything();
    assert_eq!(bench.bytes(), (3 * UNIT, UNIT, 2 * UNIT));
    // It asks again when the first entry is free, and finds the unit.
    gmmu.after_full_buffer = AfterFullBuffer::LooksUpAgain;
    let mut bench = Bench::new(&gmmu, "multi-range");
    bench.request(0, 0, 0);
    bench.request(0, 2 * UNIT, 0);
    let asker = Asker {
        sm: 0,
        partition: 0,
    };
    let mut touch = |at_ns: u64, address: u64| {
        let at = Picos::from_nanos(at_ns);
        (bench.ranges).touch(at, segment_at(address, asker), &mut bench.host_link)
    };
    let free_at = Picos::from_nanos(first);
    assert_eq!(touch(10, 0), Touch::LooksUpAgain(free_at));
    assert_eq!(touch(20, 4 * UNIT), Touch::LooksUpAgain(free_at));
    assert_eq!(
        touch(first, 0),
        Touch::Here(Picos::from_nanos(first + 5)),
        "the look-up takes its time"
    );
    let Touch::Arrives(_) = touch(first, 4 * UNIT) else {
        panic!("the entry is free")
    };
    let counts = bench.ranges.counts();
    assert_eq!((counts.buffer_stalls, counts.migrations), (2, 3));
    assert_eq!(
        counts.buffer_stalled.as_nanos(),
        (first - 10 - 5) + (first - 20 - 5)
    );
}

proptest! {
    /// Requests are repeated whenever the manager says so: all of them end, what they asked for is there, and where requests merge
    /// every unit moves once.
    #[test]
    fn requests_that_look_up_again_all_end(
        asked in prop::collection::vec((0..PAGE * PAGES / 128, 0..PARTITIONS, 0_u64..200), 1..60),
        at_arrival in any::<bool>(), merges in any::<bool>(), whole_page in any::<bool>(),
    ) {
        let mut gmmu = merging(if merges { MergeScope::Gpu } else { MergeScope::Sm });
        gmmu.after_full_buffer = AfterFullBuffer::LooksUpAgain;
        gmmu.validity = if at_arrival { Validity::AtArrival } else { Validity::AtRequest };
        let mut bench = Bench::new(&gmmu, if whole_page { "whole-page" } else { "multi-range" });
        let unit = if whole_page { PAGE } else { UNIT };
        let mut waiting = std::collections::BTreeSet::new();
        let mut at = 0;
        for (number, (segment, partition, gap)) in asked.iter().enumerate() {
            at += gap;
            waiting.insert((Picos::from_nanos(at), number, segment * 128, *partition));
        }
        while let Some((at, number, address, partition)) = waiting.pop_first() {
            let asker = Asker { sm: number as u32 % 4, partition };
            match bench.ranges.touch(at, segment_at(address, asker), &mut bench.host_link) {
                Touch::LooksUpAgain(again) => {
                    prop_assert!(again > at);
                    waiting.insert((again, number, address, partition));
                }
                Touch::Here(done) | Touch::Arrives(done) => prop_assert!(done >= at),
                other => prop_assert!(false, "{other:?}"),
            }
        }
        bench.ranges.land_everything();
        let units: std::collections::BTreeSet<u64> = asked.iter().map(|(segment, ..)| segment * 128 / unit).collect();
        prop_assert_eq!(bench.ranges.resident_bytes(), units.len() as u64 * unit);
        if merges {
            prop_assert_eq!(bench.bytes(), (units.len() as u64 * unit, 0, units.len() as u64 * unit));
        }
    }
}

#[test]
fn a_policy_sees_pages_allocations_frames_and_faults() {
    static SEEN: std::sync::Mutex<Vec<Seen>> = std::sync::Mutex::new(Vec::new());
    static ENTRY: PolicyEntry = PolicyEntry {
        name: "looker",
        summary: "looks",
        parameters: &[],
        build: &|_| Box::new(Looker(&SEEN)),
    };
    let mut gmmu = gmmu(CpuReturn::Valid);
    gmmu.memory_bytes = Some(2 * PAGE);
    let mut spec = MigrationSpec::new(PageSize::new(PAGE).unwrap(), &ENTRY);
    spec.unit_bytes = UNIT as u32;
    let mut ranges = Ranges::new(gmmu, spec.build().unwrap(), 0);
    ranges.allocate(0, PAGE, PAGE);
    ranges.allocate(PAGE, 2 * PAGE, 3 * PAGE);
    let host_link = HostLink::new(link(), Timeline::with_limit(0));
    let mut bench = Bench { ranges, host_link };
    for (at_ms, address) in [(0, 0), (1, PAGE), (2, PAGE + UNIT), (3, 2 * PAGE)] {
        bench.request(at_ms * 1_000_000, address, 0);
    }
    let seen = |page, allocation, valid_bytes, free, faults| Seen {
        page,
        allocation,
        valid_bytes,
        frames: (Some(2), Some(free)),
        faults,
    };
    let expected = [
        seen(0, 0..1, [0; 4], 2, (0, 0, vec![])),
        seen(1, 1..3, [UNIT, 0, 0, 0], 1, (1, 0, vec![0])),
        seen(1, 1..3, [UNIT, UNIT, 0, 0], 0, (2, 1, vec![1, 0])),
        seen(2, 1..3, [UNIT, 2 * UNIT, 0, 0], 0, (3, 0, vec![1, 1, 0])),
    ];
    assert_eq!(*SEEN.lock().unwrap(), expected);
}
