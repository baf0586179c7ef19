//! Lanes of a warp that wait for each other: they all get on, and masks meet by value.

use super::harness::Device;
use pagemill_ptx::TrapKind;

fn device() -> Device {
    Device::load("lanes_wait")
}

#[test]
fn every_lane_gets_the_lock() {
    let mut device = device();
    let (lock, count) = (device.zeros::<u32>(1), device.zeros::<u32>(1));
    let order = device.zeros::<u32>(96);
    device.launch(
        "spin_lock",
        1,
        32,
        &[lock.into(), count.into(), order.into()],
    );
    assert_eq!(device.download::<u32>(count, 1), [96]);
    let mut order = device.download::<u32>(order, 96);
    order.sort_unstable();
    assert_eq!(order, (0..96).map(|at| at / 3).collect::<Vec<u32>>());
}

#[test]
fn lanes_of_several_warps_and_blocks_share_a_lock() {
    let mut device = device();
    let (lock, count) = (device.zeros::<u32>(1), device.zeros::<u32>(1));
    let order = device.zeros::<u32>(3 * 2 * 40);
    device.launch(
        "spin_lock",
        2,
        40,
        &[lock.into(), count.into(), order.into()],
    );
    assert_eq!(device.download::<u32>(count, 1), [3 * 2 * 40]);
}

#[test]
fn counting_the_attempts_changes_nothing() {
    let mut device = device();
    let (lock, count) = (device.zeros::<u32>(1), device.zeros::<u32>(1));
    let attempts = device.zeros::<u32>(5);
    device.launch(
        "counted_lock",
        1,
        5,
        &[lock.into(), count.into(), attempts.into()],
    );
    assert_eq!(device.download::<u32>(count, 1), [5]);
}

#[test]
fn tickets_are_served_in_order() {
    let mut device = device();
    let (serving, out) = (device.zeros::<u32>(1), device.zeros::<u32>(32));
    device.launch("ticket_lock", 1, 32, &[serving.into(), out.into()]);
    let wanted: Vec<u32> = (0..32).rev().collect();
    assert_eq!(device.download::<u32>(out, 32), wanted);
}

#[test]
fn producers_and_consumers_alternate() {
    let mut device = device();
    let (cells, sums) = (device.zeros::<u32>(16), device.zeros::<u32>(32));
    device.launch("producers", 1, 32, &[cells.into(), sums.into()]);
    let wanted: Vec<u32> = (0..32).map(|t| t % 2 * 210 * (t / 2 + 1)).collect();
    assert_eq!(device.download::<u32>(sums, 32), wanted);
}

#[test]
fn lanes_and_warps_answer_each_other() {
    for threads in [2, 32, 200] {
        let mut device = device();
        let flags = device.zeros::<u32>(3);
        device.launch("there_and_back", 1, threads, &[flags.into()]);
        assert_eq!(device.download::<u32>(flags, 3), [1, 1, 7]);
    }
}

#[test]
fn a_mask_is_met_from_both_branches() {
    let mut device = device();
    let out = device.zeros::<u32>(32);
    device.launch("meet_in_branches", 1, 32, &[out.into()]);
    let cell = |at: u32| at + if at < 12 { 100 } else { 200 };
    let wanted: Vec<u32> = (0..32)
        .map(|t| cell(if t < 12 { t + 20 } else { 31 - t }))
        .collect();
    assert_eq!(device.download::<u32>(out, 32), wanted);
}

#[test]
fn exchanges_reach_over_branches() {
    let mut device = device();
    let out = device.zeros::<u32>(96);
    device.launch("exchange_in_branches", 1, 32, &[out.into()]);
    let found = device.download::<u32>(out, 96);
    let brought = |lane: u32| lane * if lane.is_multiple_of(3) { 10 } else { 1000 };
    let shuffled: Vec<u32> = (0..32).map(|t| brought(t ^ 1)).collect();
    assert_eq!(found[..32], shuffled);
    let votes = (0u32..32)
        .filter(|t| if t.is_multiple_of(3) { *t > 20 } else { *t < 5 })
        .fold(0, |bits, t| bits | 1 << t);
    assert_eq!(found[32..64], [votes; 32]);
    let alike: Vec<u32> = (0..32).map(|t| 0x1111_1111 << (t % 4)).collect();
    assert_eq!(found[64..], alike);
}

#[test]
fn lanes_that_have_ended_are_not_waited_for() {
    for (threads, n) in [(32, 20u32), (16, 100), (32, 32), (48, 40), (7, 3)] {
        let mut device = device();
        let out = device.zeros::<u32>(128);
        device.launch("after_return", 1, threads, &[out.into(), n.into()]);
        let found = device.download::<u32>(out, 128);
        // Each warp adds up its own lanes; only the first lane's sum is of all.
        let lanes = threads.min(n).min(32);
        assert_eq!(found[0], (1..=lanes).sum::<u32>(), "{threads} threads, {n}");
        let mask = (1u64 << lanes) - 1;
        assert_eq!(found[64], mask as u32, "{threads} threads, {n}");
    }
}

#[test]
fn a_lane_that_ends_elsewhere_frees_the_others() {
    let mut device = device();
    let out = device.zeros::<u32>(32);
    device.launch("end_elsewhere", 1, 32, &[out.into()]);
    let votes = 0xAAAA_AAAA & !(1 << 5) | 1 << 6;
    let wanted: Vec<u32> = (0..32)
        .map(|t| match t {
            5 => 77,
            6 => 1000 + votes,
            _ => votes,
        })
        .collect();
    assert_eq!(device.download::<u32>(out, 32), wanted);
}

#[test]
fn after_the_lock_the_warp_is_whole() {
    let mut device = device();
    let (lock, out) = (device.zeros::<u32>(1), device.zeros::<u32>(128));
    device.launch("together_again", 1, 64, &[lock.into(), out.into()]);
    let found = device.download::<u32>(out, 128);
    assert_eq!(found[..64], [2016; 64]);
    assert_eq!(found[64..], [32; 64]);
}

#[test]
fn masks_that_wait_for_each_other_are_refused() {
    let mut device = device();
    let out = device.zeros::<u32>(32);
    let trap = device.trap("never_come", 1, 32, &[out.into()]);
    assert!(matches!(trap.kind, TrapKind::AbsentLanes { .. }), "{trap}");
    assert!(trap.to_string().contains("never come"), "{trap}");
}

#[test]
fn endless_loops_end_soon() {
    let trap = device().trap("endless", 2, 64, &[]);
    assert_eq!(trap.kind, TrapKind::NoProgress { instructions: 0 });
    let mut device = self::device();
    let out = device.zeros::<u32>(32);
    let trap = device.trap("endless_in_one_lane", 1, 32, &[out.into()]);
    assert_eq!(trap.kind, TrapKind::NoProgress { instructions: 0 });
    let wanted: Vec<u32> = (0..32).map(|t| if t == 9 { 1 } else { 2 }).collect();
    assert_eq!(device.download::<u32>(out, 32), wanted);
}

#[test]
fn a_stray_shuffle_is_told_once() {
    let mut device = self::device();
    let out = device.zeros::<u32>(32);
    device.launch("stray_shuffle", 4, 32, &[out.into()]);
    assert_eq!(device.download::<u32>(out, 8), [4, 5, 6, 7, 0, 0, 0, 0]);
    assert_eq!(device.notes.len(), 1, "{:?}", device.notes);
    assert!(
        device.notes[0].contains("stray_shuffle at lanes_wait.ptx:"),
        "{:?}",
        device.notes
    );
    let mut device = self::device();
    let out = device.zeros::<u32>(96);
    device.launch("exchange_in_branches", 1, 32, &[out.into()]);
    assert_eq!(device.notes, [""; 0]);
}

#[test]
fn lanes_that_their_masks_leave_out_take_part_with_those_that_are_there() {
    let mut device = Device::load("by_hand_masks");
    let out = device.zeros::<u32>(64);
    device.launch("votes_below", 1, 64, &[out.into()]);
    let wanted: Vec<u32> = (0..64).map(|t| t % 32 / 2).collect();
    assert_eq!(device.download::<u32>(out, 64), wanted);
    assert_eq!(device.notes.len(), 1, "{:?}", device.notes);
    let mut device = Device::load("by_hand_masks");
    let out = device.zeros::<u32>(32);
    device.launch("votes_apart", 1, 32, &[out.into()]);
    let wanted: Vec<u32> = (0..32u32)
        .map(|t| match t {
            0..16 => (0xffff & !(1 << t)) + 1,
            _ => 0xffff_0000 & !(1 << t),
        })
        .collect();
    assert_eq!(device.download::<u32>(out, 32), wanted);
}
