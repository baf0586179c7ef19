use super::*;
use proptest::prelude::*;

fn spec() -> DramSpec {
    DramSpec {
        clock: Clock::new(1_000_000_000).unwrap(),
        bandwidth: Bandwidth::new(64_000_000_000).unwrap(),
        channels: 2,
        banks: 4,
        row_bytes: 1024,
        column_cycles: 12,
        activate_cycles: 11,
        precharge_cycles: 10,
        row_cycle_cycles: 40,
    }
}

// 128 B at 32 GB/s a channel.
const BURST_NS: u64 = 4;

#[test]
fn unloaded_latencies() {
    let mut channel = DramChannel::new(&spec(), 128);
    assert_eq!(
        channel.access(Picos::ZERO, 0).as_nanos(),
        11 + 12 + BURST_NS,
        "closed row"
    );
    let later = Picos::from_nanos(100);
    assert_eq!(
        channel.access(later, 128).as_nanos(),
        100 + 12 + BURST_NS,
        "open row"
    );
    let last = Picos::from_nanos(200);
    assert_eq!(
        channel.access(last, 5 * 1024).as_nanos(),
        200 + 10 + 11 + 12 + BURST_NS,
        "other row of the same bank"
    );
    assert_eq!(
        channel.counts(),
        DramCounts {
            row_hits: 1,
            row_misses: 2,
            bytes: 384
        }
    );
}

#[test]
fn sequential_bursts_reach_the_bandwidth() {
    let mut channel = DramChannel::new(&spec(), 128);
    let count = 10_000u64;
    let end = (0..count)
        .map(|i| channel.access(Picos::ZERO, i * 128))
        .max()
        .unwrap();
    let least = count * BURST_NS;
    assert!(end.as_nanos() >= least);
    assert!(
        end.as_nanos() < least + least / 10,
        "{} ns for at least {least} ns of data",
        end.as_nanos()
    );
}

#[test]
fn two_rows_of_one_bank_are_bound_by_the_row_cycle() {
    let mut channel = DramChannel::new(&spec(), 128);
    let end = (0..100u64)
        .map(|i| channel.access(Picos::ZERO, (i % 2) * 5 * 1024))
        .max()
        .unwrap();
    assert!(end.as_nanos() >= 99 * 40);
}

proptest! {
    #[test]
    fn never_before_the_column_latency_and_never_above_the_bandwidth(
        requests in prop::collection::vec((0u64..20_000, 0u64..64), 1..300),
    ) {
        let mut channel = DramChannel::new(&spec(), 128);
        let mut at = Picos::ZERO;
        let arrivals: Vec<Picos> = requests.iter().map(|&(gap, _)| { at += Picos(gap); at }).collect();
        let mut last = Picos::ZERO;
        for (index, &(_, line)) in requests.iter().enumerate() {
            let end = channel.access(arrivals[index], line * 128);
            prop_assert!(end >= arrivals[index] + Picos::from_nanos(12 + BURST_NS));
            last = last.max(end);
            for (from, &first) in arrivals[..=index].iter().enumerate() {
                let bursts = (index - from + 1) as u64;
                prop_assert!(last >= first + Picos::from_nanos(12 + bursts * BURST_NS), "{bursts} bursts in too short a time");
            }
        }
    }
}
