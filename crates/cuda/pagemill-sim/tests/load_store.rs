//! The load-store unit of an SM: what an access takes of it, and who is next.

use crate::common::gtx480::gtx480;
use crate::common::{compute, exit, load, shape, wait};
use pagemill_sim::gpu::{
    AccessKind, GpuMachine, Host, Options, Step, StoreWay, SyntheticGrid, TransferMode, WarpPlace,
};

/// One SM, with a cycle of 1 ns in both clocks and L2 as fast as can be.
fn machine() -> GpuMachine {
    let mut machine = gtx480();
    machine.sm.count = 1;
    let clock = pagemill_types::Clock::new(1_000_000_000).expect("it is a clock");
    (machine.core_clock, machine.l2_clock) = (clock, clock);
    machine.sm.segment_cycles = 1;
    machine.interconnect.answer_cycles = Some(1);
    machine.interconnect.store_bytes_per_cycle = Some(4096);
    machine
}

/// Time of a block of `warps`, in each of which `program` makes the steps.
fn time_ns(
    machine: &GpuMachine,
    warps: u32,
    mut program: impl FnMut(u64, WarpPlace, &mut Step),
) -> u64 {
    let mut host = Host::new(machine, TransferMode::IdealOverlap, Options::default()).unwrap();
    let buffer = host.alloc("data", 1 << 20).unwrap().address.0;
    let mut grid = SyntheticGrid::new(shape(1, warps), |place: WarpPlace, step: &mut Step| {
        program(buffer, place, step);
    });
    host.launch_grid("accesses", &mut grid).unwrap();
    host.finish().time_ns
}

/// What one store of a warp takes, whose lanes lie so many bytes apart.
fn store_ns(machine: &GpuMachine, stride: u64) -> u64 {
    let of = |stores| {
        // Enough warps that the unit is never idle.
        time_ns(machine, 8, |buffer, place, step| {
            if place.step == stores {
                return exit(step);
            }
            load(step, buffer, 0);
            step.totals.issue_cycles = 0;
            step.access.kind = AccessKind::Store;
            step.access.slot = None;
            step.access.listed = std::array::from_fn(|lane| buffer + lane as u64 * stride);
        })
    };
    (of(300) - of(200)) / 800
}

#[test]
fn a_store_takes_a_packet_for_each_line_on_its_way_out() {
    let store_ns = |header_bytes, stride| {
        let mut machine = machine();
        machine.interconnect.sm_stores = Some(StoreWay {
            bytes_per_cycle: 4,
            header_bytes,
        });
        store_ns(&machine, stride)
    };
    // A translation comes before each packet, so that only differences are round numbers.
    assert_eq!(store_ns(40, 4) - store_ns(8, 4), 32 / 4, "one packet");
    assert_eq!(store_ns(40, 128) - store_ns(8, 128), 32 * 32 / 4);
    let of_one_sector = store_ns(8, 4) - (128 - 32) / 4;
    assert_eq!(store_ns(8, 128), 32 * of_one_sector);
}

#[test]
fn lanes_of_16_bytes_pass_in_parts() {
    let load_ns = |rate, lane_bytes: u64| {
        let mut machine = machine();
        machine.sm.wide_sectors_per_cycle = rate;
        let of = |loads| {
            time_ns(&machine, 32, |buffer, place, step| {
                if place.step == loads {
                    return exit(step);
                }
                load(step, buffer, 0);
                step.totals.issue_cycles = 0;
                step.access.lane_bytes = lane_bytes as u32;
                step.access.listed = std::array::from_fn(|lane| buffer + lane as u64 * lane_bytes);
            })
        };
        (of(300) - of(200)) / 3200
    };
    assert_eq!([load_ns(None, 4), load_ns(None, 16)], [1, 4]);
    assert_eq!([load_ns(Some(2), 4), load_ns(Some(2), 16)], [1, 8]);
}

/// 32 warps load a word that L1 has, work, and load one that only the first of them misses, turn by turn.
#[test]
fn a_warp_that_does_not_wait_keeps_its_place() {
    let turns = 50;
    let run = |queues| {
        let mut machine = machine();
        machine.sm.queues_accesses = queues;
        machine.interconnect.sm_stores = Some(StoreWay {
            bytes_per_cycle: 16,
            header_bytes: 0,
        });
        time_ns(&machine, 32, |buffer, place, step| {
            let turn = place.step / 4;
            match place.step % 4 {
                _ if turn == turns => exit(step),
                0 => load(step, buffer, 0),
                1 => load(step, buffer + 4096 + turn * 128, 1),
                2 => wait(step, 0b11),
                _ => {
                    load(step, buffer + (1 << 19), 0);
                    step.access.kind = AccessKind::Store;
                    step.access.slot = None;
                }
            }
            compute(step, 1, 1);
        })
    };
    let (queued, blocked) = (run(true), run(false));
    assert!(queued < blocked * 9 / 10, "{queued} of {blocked} ns");
}
