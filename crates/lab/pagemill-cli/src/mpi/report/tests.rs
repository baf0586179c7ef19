use pagemill_fabric::board::COUNTERS;

use super::*;

fn station(index: u32, late: u64) -> StationView {
    let mut counters = vec![0; Counter::ALL.len()];
    counters[Counter::Sends as usize] = 7 + u64::from(index);
    counters[Counter::LateSteps as usize] = late;
    StationView {
        index,
        process: 100 + index,
        is_gone: true,
        clock_ps: 1_234_567,
        counters,
    }
}

#[test]
fn the_table_has_a_column_for_each_rank_and_no_empty_lines() {
    let text = table("pni", &[station(0, 0), station(1, 0)]);
    assert!(text.contains("rank 1") && text.contains("1.235"), "{text}");
    assert_eq!(text.lines().count(), 3, "{text}");
}

#[test]
fn waits_are_shares_of_the_time_of_all_ranks_the_largest_first() {
    let mut stations = [station(0, 0), station(1, 0)];
    for station in &mut stations {
        station.clock_ps = 1000;
        station.counters.resize(COUNTERS, 0);
    }
    assert_eq!(waits(&stations), "");
    let place = |cause| share(Counter::ReceiveWaitPs, cause).expect("a place");
    stations[0].counters[place(Cause::Wire)] = 100;
    stations[1].counters[place(Cause::Table)] = 300;
    assert_eq!(
        waits(&stations),
        "the ranks waited for 20.0 % of their time: table misses 15.0 %, wire 5.0 %\n"
    );
}

#[test]
fn only_lost_order_is_warned_of() {
    assert_eq!(order_warning(&[station(0, 0)]), None);
    let warning = order_warning(&[station(0, 2), station(1, 1)]).expect("a warning");
    assert!(warning.contains("3 events"), "{warning}");
}
