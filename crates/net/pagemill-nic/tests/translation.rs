//! Translation of today: IOMMU, device TLB, memory keys, faults and registrations, against closed forms.

use pagemill_nic::pattern::{
    AddressOrder, Addresses, DmaReport, DmaSpec, LatencySpec, Level, PortsReport, PortsSpec,
    run_dma, run_ports,
};
use pagemill_nic::{
    IommuSpec, KeySpec, NicMachine, PagingSpec, RegistrationMode, RegistrationSpec, TablePlace,
};
use pagemill_policy::translation::{AttSpec, LargePages};
use pagemill_types::{PageSize, Picos};
use proptest::prelude::*;

const IOMMU: IommuSpec = IommuSpec {
    entries: 64,
    ways: 64,
    walk_latency: Picos::from_nanos(300),
    walkers: 6,
    has_device_tlb: false,
    request_latency: Picos::from_nanos(400),
};

const KEYS: KeySpec = KeySpec {
    entries: 16,
    ways: 16,
    entry_bytes: 64,
};

const PAGING: PagingSpec = PagingSpec {
    is_on_demand: true,
    fault_latency: Picos::from_nanos(100_000),
    page_latency: Picos::from_nanos(1000),
    fault_pages: 4,
    handlers: 1,
    resend_latency: Picos::from_nanos(50_000),
    resident_bytes: 1 << 40,
    first_use_faults: true,
};

/// An interface with pages of 4 KiB.
fn machine() -> NicMachine {
    let mut machine = NicMachine::pni();
    machine.att.layout.page = PageSize::KIB_4;
    machine.att.prefetch_groups = 0;
    machine
}

fn behind(iommu: IommuSpec) -> NicMachine {
    let mut machine = machine();
    machine.table.place = TablePlace::Iommu;
    machine.table.iommu = Some(iommu);
    machine
}

fn accesses(span_bytes: u64, depth: u32) -> DmaSpec {
    DmaSpec {
        is_write: false,
        bytes: 64,
        span_bytes,
        accesses: 4000,
        warmup: 1000,
        depth,
        seed: 1,
    }
}

fn dma(spec: &DmaSpec, machine: &NicMachine) -> DmaReport {
    run_dma(spec, machine).unwrap()
}

/// Time of one access, each after the other.
fn one(span_bytes: u64, machine: &NicMachine) -> Picos {
    let spec = accesses(span_bytes, 1);
    Picos(dma(&spec, machine).latency.0 / spec.accesses)
}

#[test]
fn within_the_iommu_an_access_takes_its_way_and_beyond_it_a_walk_more() {
    let mut direct = machine();
    direct.table.place = TablePlace::OwnMemory;
    let near = one(256 << 10, &direct);
    assert_eq!(one(1 << 30, &direct), near, "own memory holds everything");
    let host = behind(IOMMU);
    assert_eq!(one(256 << 10, &host), near, "64 pages are kept");
    let far = one(1 << 40, &host);
    assert_eq!(far, near + IOMMU.walk_latency, "no page is used twice");
}

#[test]
fn a_device_tlb_asks_the_iommu_once_for_a_page() {
    let mut asked = IOMMU;
    asked.has_device_tlb = true;
    let host = behind(asked);
    let mut direct = machine();
    direct.table.place = TablePlace::OwnMemory;
    let near = one(256 << 10, &direct);
    assert_eq!(one(256 << 10, &host), near, "the device TLB holds 64 pages");
    let far = one(1 << 40, &host);
    assert_eq!(far, near + IOMMU.request_latency + IOMMU.walk_latency);
    // 128 KiB of entries hold 64 MiB, the IOMMU 256 KiB: between them a miss of the IOMMU is a hit of the device TLB.
    let report = dma(&accesses(16 << 20, 1), &host);
    let warm = dma(
        &DmaSpec {
            warmup: 40_000,
            ..accesses(16 << 20, 1)
        },
        &host,
    );
    assert!(report.counts.translation.walks > 0);
    assert_eq!(Picos(warm.latency.0 / 4000), near);
}

#[test]
fn walkers_bound_the_rate() {
    let mut host = behind(IOMMU);
    host.engine.rdma_gap = Picos::from_nanos(1);
    let report = dma(&accesses(1 << 40, 64), &host);
    let each = IOMMU.walk_latency.0 / u64::from(IOMMU.walkers);
    let expected = 4000 * each;
    assert!(
        report.time.0.abs_diff(expected) < expected / 100,
        "{} instead of {expected}",
        report.time.0
    );
    assert_eq!(report.counts.translation.walks, 5000);
}

#[test]
fn misses_in_a_window_are_the_share_that_does_not_fit() {
    let host = behind(IOMMU);
    for pages in [128_u64, 256, 1024] {
        let spec = DmaSpec {
            accesses: 40_000,
            ..accesses(pages * 4096, 1)
        };
        let walks = dma(&spec, &host).counts.translation.walks as f64 / 41_000.0;
        let share = 1.0 - 64.0 / pages as f64;
        assert!((walks - share).abs() < 0.02, "{pages} pages: {walks}");
    }
}

fn writes(regions: u32, span_bytes: u64, machine: &NicMachine) -> PortsReport {
    let spec = PortsSpec {
        ports: 1,
        bytes: 64,
        writes: 2000,
        span_bytes,
        regions,
        seed: 1,
    };
    let report = run_ports(&spec, machine).unwrap();
    assert_eq!(report.errors, 0);
    report
}

#[test]
fn keys_are_read_when_they_are_not_cached() {
    let mut machine = machine();
    assert_eq!(
        writes(1024, 1 << 20, &machine)
            .counts
            .translation
            .key_misses,
        0
    );
    machine.table.keys = Some(KEYS);
    let few = writes(16, 1 << 20, &machine);
    assert_eq!(
        few.counts.translation.key_misses,
        2 * 16,
        "each once, on both sides"
    );
    let many = writes(1024, 1 << 20, &machine);
    let share = many.counts.translation.key_misses as f64 / 4000.0;
    assert!((share - (1.0 - 16.0 / 1024.0)).abs() < 0.01, "{share}");
    // A key is 64 bytes of memory, before the page is looked up, on both sides.
    let host = &machine.host;
    let read = host.read_latency + host.from_memory.time_for(64);
    let difference = many.latency.0 as f64 / 2000.0 - few.latency.0 as f64 / 2000.0;
    let expected =
        2.0 * read.0 as f64 * (many.counts.translation.key_misses as f64 - 32.0) / 4000.0;
    assert!(
        (difference - expected).abs() < 0.05 * expected,
        "{difference} instead of {expected}"
    );
    assert_eq!(few.counts.card_bytes, (128 << 10) + 16 * 64);
}

fn ping_pong(bytes: u64, order: AddressOrder, machine: &NicMachine, level: Level) -> Picos {
    let addresses = Addresses::new(order, bytes, 64 << 20, 1);
    let spec = LatencySpec {
        level,
        bytes,
        iterations: 20,
        warmup: 5,
        source: addresses.clone(),
        target: addresses,
    };
    spec.run(machine).unwrap().0
}

#[test]
fn misses_of_a_transfer_overlap_where_translations_are_asked_for_ahead() {
    let added = |translate_ahead| {
        let mut direct = machine();
        direct.table.place = TablePlace::OwnMemory;
        let mut asked = behind(IommuSpec {
            walkers: 64,
            has_device_tlb: true,
            ..IOMMU
        });
        // A line of one entry: each page is a miss.
        asked.att = AttSpec {
            layout: asked.att.layout,
            ..AttSpec::of_entries(1024, 8)
        };
        asked.att.layout.group_entries = 1;
        let time = |mut machine: NicMachine| {
            machine.engine.translate_ahead = translate_ahead;
            let fresh = AddressOrder::FirstTouch;
            ping_pong(16 * 4096, fresh, &machine, Level::Rdma).0
        };
        // The way back finds the translations: a round trip has the misses once.
        2 * (time(asked) - time(direct))
    };
    let miss = (IOMMU.request_latency + IOMMU.walk_latency).0;
    let ahead = added(true);
    assert!(
        (miss..=miss * 5 / 2).contains(&ahead),
        "{ahead}: once on each side"
    );
    let one_by_one = added(false);
    // The link hides what a page of 4 KiB takes on it, 512 ns of each 700 ns.
    assert!(one_by_one > 3 * ahead, "{one_by_one}: each page for itself");
}

#[test]
fn a_fault_costs_its_handling_once_for_the_pages_that_follow() {
    let pinned = machine();
    let mut demand = machine();
    demand.table.paging = Some(PAGING);
    let same = |machine| ping_pong(8 * 4096, AddressOrder::Same, machine, Level::Rdma);
    assert_eq!(
        same(&pinned),
        same(&demand),
        "after the warm-up all pages are mapped"
    );
    let fresh = |machine| ping_pong(8 * 4096, AddressOrder::FirstTouch, machine, Level::Rdma);
    // Eight pages are two faults of four on each side, and what arrives is sent again. The sender's second fault is handled while the
    // receiver's first is. The way back finds the pages mapped, so a round trip has this once.
    let fault = PAGING.fault_latency.0 + 4 * PAGING.page_latency.0;
    let added = 2 * (fresh(&demand).0 - fresh(&pinned).0);
    let expected = 3 * fault + 2 * PAGING.resend_latency.0;
    let hidden = Picos::from_nanos(10_000).0;
    assert!(
        (expected - hidden..=expected).contains(&added),
        "{added} instead of {expected}"
    );
}

#[test]
fn memory_that_is_not_resident_faults_again() {
    let mut demand = machine();
    demand.table.paging = Some(PagingSpec {
        fault_pages: 1,
        resident_bytes: 64 * 4096,
        ..PAGING
    });
    let faults = |span_bytes| {
        let spec = accesses(span_bytes, 1);
        dma(&spec, &demand).counts.translation.faults
    };
    assert_eq!(faults(64 * 4096), 64);
    let share = faults(256 * 4096) as f64 / 5000.0;
    assert!((share - 0.75).abs() < 0.03, "{share}");
}

#[test]
fn pages_that_were_used_before_fault_only_where_they_do_not_fit() {
    let mut demand = machine();
    demand.table.paging = Some(PagingSpec {
        fault_pages: 1,
        resident_bytes: 64 * 4096,
        first_use_faults: false,
        ..PAGING
    });
    let faults = |span_bytes| {
        dma(&accesses(span_bytes, 1), &demand)
            .counts
            .translation
            .faults
    };
    assert_eq!(faults(64 * 4096), 0);
    assert!(faults(128 * 4096) > 2000);
}

#[test]
fn a_page_that_was_unmapped_leaves_the_caches() {
    let mut demand = machine();
    demand.att = AttSpec {
        layout: demand.att.layout,
        ..AttSpec::of_entries(1024, 8)
    };
    demand.att.layout.group_entries = 1;
    demand.table.paging = Some(PagingSpec {
        fault_pages: 1,
        resident_bytes: 4096,
        ..PAGING
    });
    let report = dma(&accesses(2 * 4096, 1), &demand).counts.translation;
    assert_eq!(
        report.faults, report.misses,
        "a translation of an unmapped page is not used"
    );
    assert!(report.faults > 2000);
}

fn registered(mode: RegistrationMode, regions: u32) -> NicMachine {
    let mut machine = machine();
    machine.messages.registration = Some(RegistrationSpec {
        mode,
        register_latency: Picos::from_nanos(10_000),
        page_latency: Picos::from_nanos(250),
        deregister_latency: Picos::from_nanos(2000),
        cache_regions: regions,
        cache_bytes: 1 << 40,
    });
    machine
}

#[test]
fn each_message_pays_for_its_registrations_or_only_the_first() {
    let bytes = 64 << 10;
    let time = |machine: &NicMachine| ping_pong(bytes, AddressOrder::Same, machine, Level::Mpi);
    let free = time(&machine());
    assert_eq!(time(&registered(RegistrationMode::Once, 0)), free);
    assert_eq!(
        time(&registered(RegistrationMode::Cached, 16)),
        free,
        "the buffer is cached"
    );
    let each = registered(RegistrationMode::Each, 0);
    // Both sides register 16 pages, one after the other, and take that back.
    let once = 10_000 + 16 * 250 + 2000;
    let added = time(&each).0 - free.0;
    let expected = Picos::from_nanos(2 * once).0;
    let forgotten = Picos::from_nanos(2000).0;
    assert!(
        (expected..expected + forgotten).contains(&added),
        "{added} instead of {expected}: the interface forgets the pages too"
    );
    let short = |machine: &NicMachine| ping_pong(1024, AddressOrder::Same, machine, Level::Mpi);
    assert_eq!(short(&each), short(&machine()), "copied messages need none");
}

#[test]
fn a_registration_cache_that_is_too_small_registers_each_time() {
    let bytes = 64 << 10;
    let stride = AddressOrder::Stride {
        distance_bytes: 1 << 20,
        buffers: 4,
    };
    let time = |regions| {
        ping_pong(
            bytes,
            stride,
            &registered(RegistrationMode::Cached, regions),
            Level::Mpi,
        )
    };
    // Each rank sends from four buffers and receives into the same four.
    assert_eq!(time(4), time(100));
    // With fewer, each round trip has one registration on either side: 16 pages, and another one taken back.
    let registered = Picos::from_nanos(10_000 + 16 * 250 + 2000).0;
    let added = time(3).0 - time(4).0;
    let forgotten = Picos::from_nanos(2000).0;
    assert!(
        (registered..registered + forgotten).contains(&added),
        "{added}"
    );
}

#[test]
fn pages_of_two_sizes_lie_between_those_of_one() {
    let misses = |share_percent: u32| {
        let mut host = behind(IOMMU);
        host.att.layout.large = Some(LargePages {
            page: PageSize::MIB_2,
            share_percent,
        });
        dma(&accesses(128 << 20, 1), &host).counts.translation.walks
    };
    let mut large = behind(IOMMU);
    large.att.layout.page = PageSize::MIB_2;
    let all_large = dma(&accesses(128 << 20, 1), &large)
        .counts
        .translation
        .walks;
    assert_eq!(misses(100), all_large);
    assert_eq!(all_large, 64, "64 pages of 2 MiB fit");
    assert!(misses(0) > 4900);
    assert!(misses(100) < misses(50) && misses(50) < misses(0));
}

proptest! {
    /// Whatever is in the way costs time, and never saves any; the same run gives the same numbers.
    #[test]
    fn nothing_that_translates_is_faster_than_nothing(
        span in 12u32..34,
        bytes in 1u64..5000,
        is_write: bool,
        has_device_tlb: bool,
        seed: u64,
    ) {
        let spec = DmaSpec { is_write, bytes, span_bytes: 1 << span, accesses: 200, warmup: 20, depth: 1, seed };
        let mut direct = machine();
        direct.table.place = TablePlace::OwnMemory;
        let mut host = behind(IommuSpec { has_device_tlb, ..IOMMU });
        let translated = dma(&spec, &host);
        prop_assert!(translated.latency >= dma(&spec, &direct).latency);
        host.table.keys = Some(KEYS);
        let keyed = dma(&spec, &host);
        prop_assert!(keyed.latency >= translated.latency);
        host.table.paging = Some(PAGING);
        let faulting = dma(&spec, &host);
        prop_assert!(faulting.latency >= keyed.latency);
        prop_assert_eq!(dma(&spec, &host), faulting);
        prop_assert!(faulting.counts.translation.faults <= faulting.counts.translation.lookups);
    }
}
