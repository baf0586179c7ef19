use super::*;
use crate::gpu::LaunchStats;
use crate::gpu::sm::occupancy::{Limiter, Occupancy};
use proptest::prelude::*;

fn key(kernel: &str) -> GroupKey {
    GroupKey {
        module: 0,
        kernel: kernel.to_owned(),
        block: [128, 1, 1],
        shared_bytes: 0,
        blocks_log2: 4,
    }
}

const ROOMY: Circumstances = Circumstances {
    replays: true,
    is_full: false,
};

fn report(kernel: &str, work: u64, time: u64, is_timed: bool) -> LaunchReport {
    let mut stats = LaunchStats {
        end: Picos(time),
        occupancy: is_timed.then_some(Occupancy {
            blocks_per_sm: 1,
            limiter: Limiter::Blocks,
        }),
        ..LaunchStats::default()
    };
    stats.execution.warp_instructions = work;
    stats.execution.thread_instructions = 32 * work;
    LaunchReport {
        kernel: kernel.to_owned(),
        stats,
    }
}

/// Runs `launches` of (kernel, work, time); returns the sum of estimated and timed times, and what was said.
fn run(launches: &[(&str, u64, u64)], now: Circumstances) -> (u64, Sampling) {
    let mut sampler = Sampler::new(Detail::Sampled);
    let mut reports = Vec::new();
    for (place, &(kernel, work, time)) in launches.iter().enumerate() {
        let is_timed = sampler.chooses(&key(kernel), now);
        let mut report = report(kernel, work, if is_timed { time } else { 0 }, is_timed);
        match is_timed {
            true => sampler.note_timed(key(kernel), &report),
            false => {
                report.stats.end =
                    sampler.note_untimed(key(kernel), place, &report, Picos::ZERO, now);
            }
        }
        reports.push(report);
    }
    for (place, time) in sampler.estimates() {
        reports[place].stats.end = time;
    }
    let sum = reports.iter().map(|report| report.time().0).sum();
    (sum, sampler.finish(&reports).expect("not all is timed"))
}

#[test]
fn equal_launches_are_timed_seldom_and_estimated_exactly() {
    let launches = vec![("k", 1_000, 5_000_000); 1_000];
    let (time, sampling) = run(&launches, ROOMY);
    assert_eq!(time, 5_000_000 * 1_000);
    assert!(sampling.timed_launches < 40, "{}", sampling.timed_launches);
    assert_eq!(
        sampling.timed_thread_instructions,
        32_000 * sampling.timed_launches
    );
}

/// Two arrays change places after each launch, and one direction is slower.
#[test]
fn launches_that_alternate_are_met_on_both_feet() {
    let launches: Vec<_> = (0..1_000)
        .map(|place| ("k", 1_000, 5_000_000 + 500_000 * (place % 2)))
        .collect();
    let (time, sampling) = run(&launches, ROOMY);
    let truth: u64 = launches.iter().map(|(_, _, time)| time).sum();
    let bar = 1_000 * sampling.time_error_ns.expect("sampled");
    assert!(
        time.abs_diff(truth) <= bar,
        "{time} in place of {truth}, bar {bar}"
    );
}

#[test]
fn everything_is_timed_where_order_decides() {
    let launches = vec![("k", 1_000, 5_000_000); 100];
    let full = Circumstances {
        is_full: true,
        ..ROOMY
    };
    assert_eq!(run(&launches, full).1.timed_launches, 100);
}

#[test]
fn kernels_that_take_turns_are_told_apart() {
    let launches: Vec<_> = (0..600)
        .map(|place| match place % 3 {
            0 => ("a", 100, 1_000_000),
            1 => ("b", 100, 7_000_000),
            _ => ("c", 900, 2_000_000),
        })
        .collect();
    let (time, sampling) = run(&launches, ROOMY);
    assert_eq!(time, 200 * 10_000_000);
    assert!(sampling.timed_launches < 150, "{}", sampling.timed_launches);
    assert_eq!(sampling.kernel_errors_ns.len(), 3);
}

#[test]
fn the_same_launches_are_chosen_every_time() {
    let launches: Vec<_> = (0..300)
        .map(|n| ("k", 1_000 + n % 7, 1_000_000 + n * n % 9_973))
        .collect();
    assert_eq!(run(&launches, ROOMY), run(&launches, ROOMY));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Groups of any shape whose time follows their work up to some noise: the truth is within twice the bar, always.
    #[test]
    fn the_truth_is_near_the_bar(
        groups in prop::collection::vec((1_000u64..100_000, 0u64..80, 10u64..2_000, 0u64..40), 1..5),
        order in prop::collection::vec((0usize..5, 0u64..1_000, 0u64..1_000), 50..800),
    ) {
        const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
        let launches: Vec<_> = order
            .iter()
            .map(|&(group, more, noise)| {
                let group = group % groups.len();
                let (work, spread, speed, noise_percent) = groups[group];
                let work = work + work * spread * more / 100_000;
                let time = 1_000_000 + work * speed;
                (NAMES[group], work, time + time * noise_percent * noise / 100_000)
            })
            .collect();
        let truth: u64 = launches.iter().map(|(_, _, time)| time).sum();
        let (time, sampling) = run(&launches, ROOMY);
        let error = time.abs_diff(truth);
        let bar = sampling.time_error_ns.expect("sampled") * 1_000;
        prop_assert!(error <= 2 * bar, "{error} of {truth}, the bar is {bar}");
        prop_assert!(sampling.timed_launches <= launches.len() as u64);
    }
}
