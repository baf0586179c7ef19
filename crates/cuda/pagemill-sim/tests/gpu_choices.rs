//! The machine's modeling choices, each against what it must do to a run that is simple enough to work out by hand.

use crate::common::gtx480::gtx480;
use crate::common::{compute, exit, load, migrate, shape, wait};
use pagemill_ptx::CacheHint;
use pagemill_sim::gpu::{
    Buffer, GpuMachine, Host, HostCopies, HostReads, L1Loads, MergeScope, Options, Placement,
    Report, StallScope, Step, StepEnd, SyntheticGrid, TransactionChain, TransferMode, Validity,
    WarpPlace,
};
use pagemill_types::{PageSize, Picos};

const PAGE: u64 = 2 << 20;

fn host(machine: &GpuMachine, mode: TransferMode) -> Host {
    Host::new(machine, mode, Options::default()).unwrap()
}

fn whole_page() -> TransferMode {
    migrate("whole-page", PageSize::MIB_2, 1024)
}

/// Every warp of `blocks` blocks loads its own 128 bytes of `buffer`.
fn read(host: &mut Host, buffer: Buffer, blocks: u64) {
    let mut grid =
        SyntheticGrid::new(
            shape(blocks, 1),
            |place: WarpPlace, step: &mut Step| match place.step {
                0 => load(step, buffer.address.0 + place.block * 128, 0),
                1 => wait(step, 1),
                _ => exit(step),
            },
        );
    host.launch_grid("read", &mut grid).unwrap();
}

fn run_buffers(machine: &GpuMachine, mode: TransferMode, sizes: &[u64]) -> (Vec<u64>, Report) {
    let mut host = host(machine, mode);
    let mut buffers = Vec::new();
    for &bytes in sizes {
        let buffer = host.alloc("data", bytes).unwrap();
        host.copy_to_gpu(buffer, 0..bytes).unwrap();
        buffers.push(buffer);
    }
    for &buffer in &buffers {
        read(&mut host, buffer, 1);
    }
    let base = buffers[0].address.0;
    let offsets = buffers.iter().map(|buffer| buffer.address.0 - base);
    (offsets.collect(), host.finish())
}

#[test]
fn packed_allocations_share_a_page() {
    let mut machine = gtx480();
    let sizes = [1000, 256, 1, 4096];
    let (apart, report) = run_buffers(&machine, whole_page(), &sizes);
    assert_eq!(apart, [0, PAGE, 2 * PAGE, 3 * PAGE]);
    assert_eq!(report.migrated_bytes, 4 * PAGE);
    machine.placement = Placement::Packed;
    let (packed, report) = run_buffers(&machine, whole_page(), &sizes);
    assert_eq!(packed, [0, 1024, 1280, 1536]);
    assert_eq!(report.migrated_bytes, PAGE);
    assert_eq!(report.ranges_per_page, [0, 1]);
    assert_eq!(report.allocated_bytes, 5353);
}

#[test]
fn packing_changes_no_page_of_what_fills_pages() {
    let mut machine = gtx480();
    let sizes = [PAGE, 3 * PAGE, PAGE];
    let (_, apart) = run_buffers(&machine, whole_page(), &sizes);
    machine.placement = Placement::Packed;
    let (_, packed) = run_buffers(&machine, whole_page(), &sizes);
    assert_eq!(apart.time_ns, packed.time_ns);
    assert_eq!(apart.migrated_bytes, packed.migrated_bytes);
}

#[test]
fn what_the_cpu_reads_between_launches_comes_back_and_goes_again() {
    let launch_twice = |reads, mode| {
        let mut machine = gtx480();
        machine.host_reads = reads;
        let mut host = host(&machine, mode);
        let buffer = host.alloc("data", PAGE).unwrap();
        host.copy_to_gpu(buffer, 0..PAGE).unwrap();
        read(&mut host, buffer, 1);
        read(&mut host, buffer, 1);
        host.finish()
    };
    let quiet = launch_twice(HostReads::Nothing, whole_page());
    assert_eq!((quiet.migrated_bytes, quiet.returned_bytes), (PAGE, 0));
    assert_eq!(quiet.memory.migration.refetched_bytes, 0);
    let busy = launch_twice(HostReads::Everything, whole_page());
    assert_eq!((busy.migrated_bytes, busy.returned_bytes), (2 * PAGE, PAGE));
    assert_eq!(busy.memory.migration.refetched_bytes, PAGE);
    // The programmer copies it back and need not copy it in again.
    let copied = launch_twice(HostReads::Everything, TransferMode::ProgrammerCopy);
    assert_eq!((copied.migrated_bytes, copied.returned_bytes), (PAGE, PAGE));
    let ideal = launch_twice(HostReads::Everything, TransferMode::IdealOverlap);
    assert_eq!(ideal.copy_time_ns, 0);
}

/// Block 0 computes for about 50 us of one warp, block 1 meanwhile waits for a page. They are on different SMs.
fn compute_beside_a_migration(stall: StallScope, blocks: u64) -> u64 {
    let mut machine = gtx480();
    machine.gmmu.stall = stall;
    let mut host = host(&machine, whole_page());
    let buffer = host.alloc("data", PAGE).unwrap();
    let faulting = blocks - 1;
    let mut grid =
        SyntheticGrid::new(
            shape(blocks, 1),
            |place: WarpPlace, step: &mut Step| match place.step {
                0 if place.block == faulting => load(step, buffer.address.0, 0),
                1 if place.block == faulting => wait(step, 1),
                2 if place.block == faulting => exit(step),
                step_number if place.block == 0 => {
                    compute(step, 1000, 70_000);
                    step.end = if step_number == 9 {
                        StepEnd::Exit
                    } else {
                        StepEnd::Budget
                    };
                }
                _ => exit(step),
            },
        );
    host.launch_grid("beside", &mut grid).unwrap();
    host.finish().time_ns
}

#[test]
fn a_stall_adds_a_migration_to_what_it_stops() {
    // A page of 2 MiB takes 131.6 us; ten steps of 70,000 cycles take 500 us.
    let page_ns = 500 + PAGE / 16;
    let computing_ns = 500_000;
    let near = |time_ns: u64, expected_ns: u64| {
        assert!(
            time_ns.abs_diff(expected_ns) < 1_500,
            "{time_ns} ns, expected {expected_ns}"
        );
    };
    // Two blocks go to two SMs, sixteen blocks put the last one beside the first.
    for blocks in [2, 16] {
        near(
            compute_beside_a_migration(StallScope::Requester, blocks),
            computing_ns,
        );
    }
    // A step that has begun runs to its end: of the 131.6 us, those before the end of the first step are hidden.
    let stopped_ns = computing_ns + page_ns - 50_000;
    near(compute_beside_a_migration(StallScope::Sm, 2), computing_ns);
    near(compute_beside_a_migration(StallScope::Sm, 16), stopped_ns);
    near(compute_beside_a_migration(StallScope::Gpu, 2), stopped_ns);
    near(compute_beside_a_migration(StallScope::Gpu, 16), stopped_ns);
}

/// Time of one block that reads a whole page that migrates, in a chain of `transactions`.
fn one_page_ns(transactions: Option<TransactionChain>) -> u64 {
    let mut machine = gtx480();
    machine.gmmu.transactions = transactions;
    let mut host = host(&machine, whole_page());
    let buffer = host.alloc("data", PAGE).unwrap();
    read(&mut host, buffer, 1);
    host.finish().time_ns
}

#[test]
fn a_chain_of_transactions_takes_a_round_trip_each() {
    let burst_ns = one_page_ns(None);
    let chain = |bytes, round_trip_ns, in_flight| {
        one_page_ns(Some(TransactionChain {
            bytes,
            round_trip: Picos::from_nanos(round_trip_ns),
            in_flight,
            units_in_flight: 8,
        }))
    };
    // 2 MiB are 16,384 transactions of 128 bytes; the burst's own 131.6 us pass meanwhile.
    let added = |time_ns: u64| time_ns + PAGE / 16 + 500 - burst_ns;
    assert!(added(chain(128, 400, 1)).abs_diff(16_384 * 400) <= 1);
    assert!(added(chain(128, 400, 4)).abs_diff(4_096 * 400) <= 1);
    assert!(added(chain(100, 400, 1)).abs_diff(20_972 * 400) <= 1);
    // A chain that is faster than the link leaves the link's time.
    assert_eq!(chain(4096, 100, 1), burst_ns);
}

/// Time of a warp that reads the last 128 bytes of the first 64 KiB of a page whose first KiB is there.
fn gap_ns(units_in_flight: u32) -> u64 {
    let mut machine = gtx480();
    machine.gmmu.transactions = Some(TransactionChain {
        bytes: 128,
        round_trip: Picos::from_nanos(1000),
        in_flight: 1,
        units_in_flight,
    });
    let mut host = host(&machine, migrate("single-range", PageSize::MIB_2, 1024));
    let buffer = host.alloc("data", PAGE).unwrap();
    read(&mut host, buffer, 1);
    let mut grid = SyntheticGrid::new(shape(1, 1), |place: WarpPlace, step: &mut Step| match place
        .step
    {
        0 => load(step, buffer.address.0 + (64 << 10) - 128, 0),
        1 => wait(step, 1),
        _ => exit(step),
    });
    host.launch_grid("gap", &mut grid).unwrap();
    host.finish().time_ns
}

#[test]
fn units_of_a_gap_move_side_by_side() {
    // The first unit is 8 round trips of 1 us, the gap 63 units.
    let rounds = |units: u32| 63_u64.div_ceil(u64::from(units)) * 8_000;
    let other = gap_ns(1) - rounds(1);
    for units in [2, 5, 63, 1000] {
        assert_eq!(gap_ns(units), rounds(units) + other, "{units}");
    }
}

#[test]
fn blocks_start_no_faster_than_the_machine_gives_them_out() {
    let kernel_ns = |interval_ns| {
        let mut machine = gtx480();
        machine.sm.block_interval = Picos::from_nanos(interval_ns);
        let mut host = host(&machine, TransferMode::IdealOverlap);
        let mut grid = SyntheticGrid::new(shape(10_000, 1), |_: WarpPlace, step: &mut Step| {
            exit(step);
        });
        host.launch_grid("tiny", &mut grid).unwrap();
        host.finish().time_ns
    };
    let unlimited = kernel_ns(0);
    assert!(unlimited < 100_000, "{unlimited}");
    let limited = kernel_ns(50);
    assert!((499_000..510_000).contains(&limited), "{limited}");
}

#[test]
fn l1_that_keeps_read_only_data_serves_no_other_loads() {
    let hits = |l1_loads, cache_hint| {
        let mut machine = gtx480();
        machine.sm.l1_loads = l1_loads;
        let mut host = host(&machine, TransferMode::IdealOverlap);
        let buffer = host.alloc("data", 4096).unwrap();
        let mut grid =
            SyntheticGrid::new(
                shape(1, 1),
                |place: WarpPlace, step: &mut Step| match place.step {
                    8 => exit(step),
                    odd if odd % 2 == 1 => wait(step, 1),
                    _ => {
                        load(step, buffer.address.0, 0);
                        step.access.cache_hint = cache_hint;
                    }
                },
            );
        host.launch_grid("again", &mut grid).unwrap();
        let l1 = host.finish().memory.l1;
        (l1.load_hits, l1.load_misses)
    };
    let (plain, read_only) = (CacheHint::Default, CacheHint::ReadOnly);
    assert_eq!(hits(L1Loads::All, plain), (3, 1));
    assert_eq!(hits(L1Loads::ReadOnly, read_only), (3, 1));
    assert_eq!(hits(L1Loads::ReadOnly, plain), (0, 0));
}

#[test]
fn a_programmer_who_copies_everything_copies_outputs_once() {
    let copied = |copies, mode| {
        let mut machine = gtx480();
        machine.host_copies = copies;
        let mut host = host(&machine, mode);
        let input = host.alloc("input", PAGE).unwrap();
        host.copy_to_gpu(input, 0..PAGE / 2).unwrap();
        let output = host.alloc("output", 3 * PAGE).unwrap();
        read(&mut host, output, 1);
        read(&mut host, output, 1);
        host.finish().migrated_bytes
    };
    let by_hand = || TransferMode::ProgrammerCopy;
    assert_eq!(copied(HostCopies::Inputs, by_hand()), PAGE / 2);
    assert_eq!(copied(HostCopies::Everything, by_hand()), 4 * PAGE);
    // Where pages migrate, the programmer copies nothing.
    let on_demand = copied(HostCopies::Inputs, whole_page());
    assert_eq!(copied(HostCopies::Everything, whole_page()), on_demand);
}

/// Two SMs read bytes of one page at the same time, `apart` bytes from each other.
fn two_readers(machine: &GpuMachine, policy: &str, apart: u64) -> Report {
    let mut host = host(machine, migrate(policy, PageSize::MIB_2, 1024));
    let buffer = host.alloc("data", PAGE).unwrap();
    let mut grid = SyntheticGrid::new(shape(2, 1), |place: WarpPlace, step: &mut Step| match place
        .step
    {
        0 => load(step, buffer.address.0 + place.block * apart, 0),
        1 => wait(step, 1),
        _ => exit(step),
    });
    host.launch_grid("read", &mut grid).unwrap();
    host.finish()
}

#[test]
fn ranges_that_become_valid_at_their_arrival_leave_gaps_where_they_are() {
    let mut machine = gtx480();
    let far = PAGE / 2;
    // Decided at the request: the second reader brings the gap to the first.
    let at_request = two_readers(&machine, "single-range", far);
    assert_eq!(at_request.migrated_bytes, far + 1024);
    // At the second reader's request nothing has arrived, so it brings its own unit only.
    machine.gmmu.validity = Validity::AtArrival;
    let at_arrival = two_readers(&machine, "single-range", far);
    assert_eq!(at_arrival.migrated_bytes, 2 * 1024);
    assert_eq!(at_arrival.ranges_per_page, [0, 1]);
    let many = two_readers(&machine, "multi-range", far);
    assert_eq!(many.migrated_bytes, 2 * 1024);
    assert_eq!(many.ranges_per_page, [0, 0, 1]);
}

#[test]
fn requests_that_do_not_merge_move_their_own_part_again() {
    let mut machine = gtx480();
    machine.gmmu.validity = Validity::AtArrival;
    let merged = two_readers(&machine, "multi-range", 0);
    assert_eq!(merged.migrated_bytes, 1024);
    assert_eq!(merged.memory.migration.joined_requests, 1);
    machine.gmmu.merge = MergeScope::Sm;
    let apart = two_readers(&machine, "multi-range", 0);
    assert_eq!(apart.migrated_bytes, 2 * 1024);
    assert_eq!(apart.memory.migration.repeated_bytes, 1024);
    assert_eq!(apart.ranges_per_page, [0, 1]);
}

/// Lines of 64 blocks that miss the second-level cache after a copy of the first half of them.
fn misses_after_a_copy(machine: &GpuMachine) -> u64 {
    let mut host = host(machine, TransferMode::ProgrammerCopy);
    let buffer = host.alloc("data", 64 * 128).unwrap();
    host.copy_to_gpu(buffer, 0..32 * 128).unwrap();
    read(&mut host, buffer, 64);
    host.finish().memory.l2.load_misses
}

#[test]
fn what_a_copy_has_written_is_in_the_second_level_where_it_stays() {
    let mut machine = gtx480();
    assert_eq!(misses_after_a_copy(&machine), 64);
    for (kept, misses) in [(8 * 128, 56), (64 * 128, 32)] {
        machine.l2_kept_copy_bytes = kept;
        assert_eq!(misses_after_a_copy(&machine), misses);
    }
}
