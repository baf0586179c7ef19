//! Barriers that are objects in shared memory, and 128 bits at once.

use super::harness::Device;
use super::inputs::Random;

#[test]
fn a_phase_ends_when_all_have_arrived() {
    let values = Random(51).words(96);
    for steps in [0u32, 1, 4] {
        let mut device = Device::load("mbarrier_sm90");
        let (from, out) = (device.upload(&values), device.zeros::<u32>(96));
        device.launch(
            "phase_relay",
            1,
            96,
            &[from.into(), out.into(), steps.into()],
        );
        let mut tile = values.clone();
        for step in 0..steps {
            let next = |t: usize| tile[(t + 5) % 96].wrapping_mul(3).wrapping_add(step);
            tile = (0..96).map(next).collect();
        }
        assert_eq!(device.download::<u32>(out, 96), tile, "{steps} steps");
    }
}

#[test]
fn a_phase_waits_for_the_bytes_that_are_expected() {
    let count = 5;
    let values = Random(52).words(32 * count);
    let mut device = Device::load("mbarrier_sm90");
    let (from, out) = (device.upload(&values), device.zeros::<u32>(96));
    device.launch(
        "phase_stages",
        1,
        96,
        &[from.into(), out.into(), (count as u32).into()],
    );
    let found: Vec<u32> = device.download(out, 96);
    for (t, &found) in found.iter().enumerate() {
        let (lane, warp) = (t % 32, t as u32 / 32);
        let stages = (0..count).map(|stage| values[32 * stage + lane].wrapping_add(warp));
        let sum = stages.fold(0u32, |sum, value| sum.wrapping_mul(7).wrapping_add(value));
        assert_eq!(found, if warp == 0 { 0 } else { sum }, "thread {t}");
    }
}

#[test]
fn threads_that_drop_out_are_not_waited_for() {
    let mut device = Device::load("mbarrier_sm90");
    let out = device.zeros::<u32>(41);
    device.launch("phase_leaving", 1, 40, &[out.into()]);
    let found: Vec<u32> = device.download(out, 41);
    assert_eq!(found[..40], (0..40).collect::<Vec<_>>());
    // In a phase of n threads, each state shows what was pending before its arrival: n, n - 1, ..., 1.
    let pending: u32 = (1..=40).map(|n| n * (n + 1) / 2).sum();
    assert_eq!(found[40], pending);
}

#[test]
fn copies_arrive_by_themselves() {
    let values = Random(53).words(64);
    let mut device = Device::load("mbarrier_sm90");
    let (from, out) = (device.upload(&values), device.zeros::<u32>(64));
    device.launch("phase_copies", 1, 64, &[from.into(), out.into()]);
    let wanted: Vec<u32> = (0..64).map(|t| values[(t + 1) % 64]).collect();
    assert_eq!(device.download::<u32>(out, 64), wanted);
}

#[test]
fn pairs_of_words_change_at_once() {
    let mut device = Device::load("mbarrier_sm90");
    let (pair, out) = (device.zeros::<u64>(2 + 64), device.zeros::<u64>(128));
    device.launch("pairs", 1, 64, &[pair.into(), out.into()]);
    let (words, found): (Vec<u64>, Vec<u64>) =
        (device.download(pair, 66), device.download(out, 128));
    assert_eq!(words[..2], [3 * 64, 3 * 63 * 64 / 2]);
    // Two threads exchange at each place: lanes act in order, so the odd one is last and finds the even one's pair.
    for t in 0..64u64 {
        let before = if t % 2 == 0 {
            [0, 0]
        } else {
            [t - 1, (t - 1) * (t - 1)]
        };
        assert_eq!(found[2 * t as usize..][..2], before, "thread {t}");
        if t % 2 == 1 {
            assert_eq!(
                words[(2 + t / 2 * 2) as usize..][..2],
                [t, t * t],
                "thread {t}"
            );
        }
    }
}
