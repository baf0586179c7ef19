//! The machine under synthetic kernels: formulas derived by hand, conservation, monotony, determinism.

use crate::common::gtx480::gtx480;
use crate::common::{compute, exit, load, machine_with_link, migrate, run, shape, wait};
use pagemill_sim::gpu::{
    AccessKind, GpuMachine, L1Loads, Memory, Report, Step, StepEnd, TlbScope, TransferMode,
    Translation, WarpPlace,
};
use pagemill_types::{PageSize, Picos};
use proptest::prelude::*;

/// Each warp loads one 128-byte segment after the other, waiting for each.
fn chase(per_warp: u64, warps: u32) -> impl FnMut(u64, WarpPlace, &mut Step) {
    move |base, place, step| {
        let index = place.step / 2;
        let warp = place.block * u64::from(warps) + u64::from(place.warp);
        match place.step % 2 {
            _ if index == per_warp => exit(step),
            0 => load(step, base + (warp * per_warp + index) * 128, 0),
            _ => wait(step, 1),
        }
    }
}

fn run_chase(
    machine: &GpuMachine,
    mode: TransferMode,
    blocks: u64,
    warps: u32,
    per_warp: u64,
) -> Report {
    let bytes = blocks * u64::from(warps) * per_warp * 128;
    run(
        machine,
        mode,
        bytes,
        shape(blocks, warps),
        chase(per_warp, warps),
    )
    .unwrap()
}

#[test]
fn an_unloaded_load_takes_the_sum_of_its_way() {
    let machine = gtx480();
    let report = run_chase(&machine, TransferMode::IdealOverlap, 1, 1, 1);
    let core = |cycles| machine.core_clock.cycles(cycles);
    let l2 = |cycles| machine.l2_clock.cycles(cycles);
    let Memory::Channels { dram: channels, .. } = machine.memory else {
        unreachable!("the preset has channels");
    };
    let dram = |cycles| channels.clock.cycles(cycles);
    let issued = core(2);
    // 2 MiB pages: three levels of 100 cycles.
    let translated = issued + core(2) + core(300);
    let missed_l2 = translated + l2(30) + l2(40);
    let burst = Picos(4_000);
    let data = missed_l2 + dram(12) + dram(12) + burst + l2(30);
    // The warp leaves the load-store unit after one segment, waits (2 cycles), and exits (2 cycles).
    let end = data.max(issued + core(2) + core(2)) + core(2);
    assert_eq!(report.launches[0].stats.end, end);
}

#[test]
fn a_second_load_of_the_line_is_an_l1_hit() {
    let machine = gtx480();
    let twice = |step_base: u64| {
        move |base: u64, place: WarpPlace, step: &mut Step| match place.step {
            0 => load(step, base, 0),
            1 => wait(step, 1),
            2 if step_base == 2 => load(step, base + 64, 0),
            3 if step_base == 2 => wait(step, 1),
            _ => exit(step),
        }
    };
    let once = run(
        &machine,
        TransferMode::IdealOverlap,
        4096,
        shape(1, 1),
        twice(1),
    )
    .unwrap();
    let again = run(
        &machine,
        TransferMode::IdealOverlap,
        4096,
        shape(1, 1),
        twice(2),
    )
    .unwrap();
    // 128 bytes from the middle of a line: half of them in that line, half in the next.
    assert_eq!(once.memory.l1.load_misses, 1);
    assert_eq!(again.memory.l1.load_hits, 1);
    assert_eq!(again.touched_bytes, 256);
}

#[test]
fn streaming_comes_near_the_narrowest_bandwidth_and_never_beyond() {
    let machine = gtx480();
    let report = run_chase(&machine, TransferMode::IdealOverlap, 480, 8, 64);
    let bytes = report.touched_bytes as f64;
    let rate = bytes / report.kernel_time_ns as f64;
    // Twelve partition ports of 32 bytes at 700 MHz: 268.8 GB/s; DRAM gives 384, the SMs' ports 336.
    assert!(rate < 268.8, "{rate} GB/s");
    assert!(rate > 0.8 * 268.8, "{rate} GB/s");
}

#[test]
fn lines_return_to_an_sm_at_the_rate_of_its_port() {
    for l1_loads in [L1Loads::All, L1Loads::ReadOnly] {
        let mut machine = gtx480();
        machine.interconnect.sm_bytes_per_cycle = 8;
        machine.sm.l1_loads = l1_loads;
        let report = run_chase(&machine, TransferMode::IdealOverlap, 480, 8, 64);
        let rate = report.touched_bytes as f64 / report.kernel_time_ns as f64;
        // Fifteen ports of 8 bytes at 700 MHz: 84 GB/s, narrower than all else.
        assert!(rate < 84.0, "{l1_loads:?}: {rate} GB/s");
        assert!(rate > 0.8 * 84.0, "{l1_loads:?}: {rate} GB/s");
    }
}

#[test]
fn loads_by_sectors_miss_once_for_each_sector() {
    let mut machine = gtx480();
    let quarters = |machine: &GpuMachine| {
        let loads = |base: u64, place: WarpPlace, step: &mut Step| match place.step {
            even @ (0 | 2 | 4 | 6) => {
                load(step, base + 16 * even, 0);
                step.access.mask = 1;
            }
            1 | 3 | 5 | 7 => wait(step, 1),
            _ => exit(step),
        };
        let mode = TransferMode::IdealOverlap;
        run(machine, mode, 4096, shape(1, 1), loads).unwrap()
    };
    assert_eq!(quarters(&machine).memory.l1.load_misses, 1);
    machine.interconnect.answer_cycles = Some(2);
    assert_eq!(quarters(&machine).memory.l1.load_misses, 4);
}

#[test]
fn migration_is_bound_by_the_link() {
    for policy in ["whole-page", "single-range", "multi-range"] {
        let report = run_chase(
            &gtx480(),
            migrate(policy, PageSize::MIB_2, 1024),
            120,
            8,
            64,
        );
        let link_ns = report.migrated_bytes / 16;
        assert!(report.time_ns >= link_ns, "{policy}");
        // A dense stream keeps the link busy all the time but for the start.
        assert!(
            report.time_ns < link_ns + link_ns / 5,
            "{policy}: {} ns for {link_ns} ns of link",
            report.time_ns
        );
        assert_eq!(report.migrated_bytes, report.resident_bytes, "{policy}");
    }
}

#[test]
fn copies_take_the_link_before_and_after() {
    let machine = gtx480();
    let copied = run_chase(&machine, TransferMode::ProgrammerCopy, 15, 4, 16);
    let ideal = run_chase(&machine, TransferMode::IdealOverlap, 15, 4, 16);
    let bytes: u64 = 15 * 4 * 16 * 128;
    assert_eq!(
        copied.copy_time_ns,
        2 * (500 + bytes / 16),
        "in and out, 500 ns and 16 bytes a nanosecond"
    );
    assert_eq!(
        (copied.migrated_bytes, copied.returned_bytes),
        (bytes, bytes)
    );
    // The kernel starts at another time, so rounding may move its end by a nanosecond.
    assert!(copied.kernel_time_ns.abs_diff(ideal.kernel_time_ns) <= 1);
    assert_eq!(ideal.copy_time_ns, 0);
}

#[test]
fn a_shared_tlb_sees_all_lookups_and_misses_once_a_page() {
    let mut machine = gtx480();
    let apart = run_chase(&machine, TransferMode::IdealOverlap, 60, 4, 32);
    if let Translation::OneLevel { scope, .. } = &mut machine.translation {
        *scope = TlbScope::Shared;
    }
    let shared = run_chase(&machine, TransferMode::IdealOverlap, 60, 4, 32);
    assert_eq!(apart.memory.tlb_lookups, shared.memory.tlb_lookups);
    assert_eq!(shared.memory.tlb_misses, 1, "983040 bytes are one page");
    assert_eq!(apart.memory.tlb_misses, 15, "one in each SM");
    assert_eq!(apart.memory.walks, 15);
}

#[test]
fn computing_alone_is_bound_by_issue_and_by_latency() {
    let machine = gtx480();
    let program = |_: u64, place: WarpPlace, step: &mut Step| {
        compute(step, 1000, 18_000);
        step.end = if place.step == 9 {
            StepEnd::Exit
        } else {
            StepEnd::Budget
        };
    };
    let lonely = run(
        &machine,
        TransferMode::IdealOverlap,
        4096,
        shape(1, 1),
        program,
    )
    .unwrap();
    assert_eq!(
        lonely.launches[0].stats.end,
        Picos(10 * machine.core_clock.cycles(18_000).0)
    );
    // 48 warps an SM, 24 a scheduler: 24 x 2000 issue cycles are more than 18000 cycles of latency.
    let crowd = run(
        &machine,
        TransferMode::IdealOverlap,
        4096,
        shape(15 * 6, 8),
        program,
    )
    .unwrap();
    let issue_bound = machine.core_clock.cycles(10 * 24 * 2000).0;
    let end = crowd.launches[0].stats.end.0;
    assert!(end >= issue_bound);
    assert!(
        end < issue_bound + issue_bound / 20,
        "{end} ps for {issue_bound} ps of issue"
    );
}

#[test]
fn a_barrier_holds_all_warps_until_the_last() {
    let machine = gtx480();
    let program = |_: u64, place: WarpPlace, step: &mut Step| match place.step {
        0 => {
            compute(step, 1, if place.warp == 2 { 100_000 } else { 100 });
            // Warps advance in their order, so the last one completes the barrier, whenever it comes in time.
            step.end = StepEnd::Barrier {
                id: 0,
                released: place.warp == 3,
            };
            step.released_warps = if place.warp == 3 { 0b0111 } else { 0 };
        }
        _ => exit(step),
    };
    let report = run(
        &machine,
        TransferMode::IdealOverlap,
        4096,
        shape(1, 4),
        program,
    )
    .unwrap();
    let least = machine.core_clock.cycles(100_000);
    let end = report.launches[0].stats.end;
    assert!(
        end > least && end < least + machine.core_clock.cycles(20),
        "{end:?}"
    );
}

#[test]
fn stores_and_atomics_reach_memory_and_migrate_pages() {
    let machine = gtx480();
    for kind in [AccessKind::Store, AccessKind::Atomic, AccessKind::Reduction] {
        let program = move |base: u64, place: WarpPlace, step: &mut Step| match place.step {
            0..8 => {
                load(step, base + (place.block * 8 + place.step) * 128, 0);
                step.access.kind = kind;
                step.access.slot = (kind == AccessKind::Atomic).then_some(0);
            }
            _ => exit(step),
        };
        let bytes = 64 * 8 * 128;
        let report = run(
            &machine,
            migrate("multi-range", PageSize::KIB_4, 256),
            bytes,
            shape(64, 1),
            program,
        )
        .unwrap();
        assert_eq!(report.migrated_bytes, bytes, "{kind:?}");
        assert_eq!(report.touched_bytes, bytes);
        assert_eq!(
            report.memory.l2.store_misses + report.memory.l2.load_misses,
            64 * 8,
            "{kind:?}"
        );
        assert!(report.time_ns > bytes / 16);
    }
}

#[test]
fn small_memory_moves_pages_out_and_in_again() {
    let mut machine = gtx480();
    let twice = |base: u64, place: WarpPlace, step: &mut Step| {
        let index = place.step / 2 % 512;
        match place.step % 2 {
            _ if place.step == 2048 => exit(step),
            0 => load(step, base + index * 4096, 0),
            _ => wait(step, 1),
        }
    };
    let page = migrate("whole-page", PageSize::KIB_4, 1024);
    let roomy = run(&machine, page.clone(), 512 * 4096, shape(1, 1), twice).unwrap();
    assert_eq!(
        (
            roomy.memory.migration.migrations,
            roomy.memory.migration.evictions
        ),
        (512, 0)
    );
    machine.memory_bytes = Some(256 * 4096);
    let tight = run(&machine, page, 512 * 4096, shape(1, 1), twice).unwrap();
    // Cyclic use of twice what fits, least recently used first: every access misses.
    assert_eq!(tight.memory.migration.migrations, 1024);
    assert_eq!(tight.memory.migration.evictions, 1024 - 256);
    assert!(tight.time_ns > roomy.time_ns);
    assert_eq!(
        tight.migrated_bytes,
        tight.memory.migration.evictions * 4096 + tight.resident_bytes
    );
}

#[test]
fn the_timeline_is_bounded_and_ordered() {
    let report = run_chase(
        &gtx480(),
        migrate("multi-range", PageSize::KIB_4, 128),
        120,
        4,
        64,
    );
    assert!(!report.timeline.events().is_empty());
    assert!(report.timeline.events().len() <= 1000);
    assert!(report.timeline.dropped() > 0);
    assert!(
        report
            .timeline
            .events()
            .iter()
            .all(|event| event.start <= event.end)
    );
}

/// A small random program: what warp `warp` does at step `step` is a hash of both.
fn random_program(seed: u64, bytes: u64, steps: u64) -> impl FnMut(u64, WarpPlace, &mut Step) {
    move |base, place, step| {
        let mut hash =
            seed ^ (place.block << 40) ^ (u64::from(place.warp) << 32) ^ (place.step / 2);
        let mut draw = |below: u64| {
            hash = (hash ^ (hash >> 29))
                .wrapping_mul(0xbf58_476d_1ce4_e5b9)
                .wrapping_add(0x9e37_79b9);
            (hash >> 20) % below
        };
        if place.step >= steps {
            return exit(step);
        }
        if place.step % 2 == 1 {
            return wait(step, 1 << draw(4));
        }
        let (kind, slot) = [
            (AccessKind::Load, Some(draw(4) as u8)),
            (AccessKind::Store, None),
            (AccessKind::Atomic, Some(0)),
        ][draw(3) as usize];
        load(step, base, slot.unwrap_or(0));
        step.access.kind = kind;
        step.access.slot = slot;
        step.access.mask = draw(1 << 32) as u32 | 1;
        let (start, stride) = (draw(bytes / 2), draw(300));
        step.access.listed =
            std::array::from_fn(|lane| base + (start + lane as u64 * stride) % bytes / 4 * 4);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn runs_are_deterministic_and_conserve_bytes(
        seed in any::<u64>(), blocks in 1u64..40, warps in 1u32..5, policy in 0usize..3, shift in 12u32..17,
    ) {
        let policy = ["whole-page", "single-range", "multi-range"][policy];
        let mode = || migrate(policy, PageSize::new(1 << shift).unwrap(), 512);
        let machine = gtx480();
        let bytes = 300_000;
        let go = || run(&machine, mode(), bytes, shape(blocks, warps), random_program(seed, bytes, 24)).unwrap();
        let report = go();
        prop_assert_eq!(&report, &go());
        prop_assert_eq!(report.migrated_bytes, report.memory.migration.migrated_bytes);
        prop_assert_eq!(report.returned_bytes, 0u64);
        prop_assert_eq!(report.migrated_bytes, report.resident_bytes);
        prop_assert!(report.migrated_bytes >= report.touched_bytes.min(bytes));
        prop_assert_eq!(report.memory.tlb_lookups, report.launches[0].stats.execution.segments);
        let pages = report.ranges_per_page.iter().sum::<u64>();
        prop_assert_eq!(pages, bytes.div_ceil(1 << shift));
    }

    #[test]
    fn ideal_is_never_slower(seed in any::<u64>(), blocks in 1u64..30, warps in 1u32..5) {
        let machine = gtx480();
        let bytes = 300_000;
        let go = |mode| run(&machine, mode, bytes, shape(blocks, warps), random_program(seed, bytes, 24)).unwrap().time_ns;
        let ideal = go(TransferMode::IdealOverlap);
        for policy in ["whole-page", "single-range", "multi-range"] {
            let migrated = go(migrate(policy, PageSize::MIB_2, 512));
            prop_assert!(ideal <= migrated, "{policy}: {migrated} ns, ideal {ideal} ns");
        }
        prop_assert!(ideal <= go(TransferMode::ProgrammerCopy));
    }

    #[test]
    fn more_link_bandwidth_never_slows_one_warp_down(seed in any::<u64>(), slow in 1u64..40, more in 0u64..40) {
        let bytes = 300_000;
        let go = |gigabytes| {
            let machine = machine_with_link(gigabytes);
            let mode = migrate("multi-range", PageSize::KIB_4, 256);
            run(&machine, mode, bytes, shape(1, 1), random_program(seed, bytes, 40)).unwrap().time_ns
        };
        let (slower, faster) = (go(slow), go(slow + more));
        prop_assert!(faster <= slower, "{faster} ns at {} GB/s, {slower} ns at {slow} GB/s", slow + more);
    }
}
