use super::*;

#[test]
fn computing_takes_its_time_but_for_what_is_the_library_s() {
    let mut compute = Compute::new(Mode::Measured(2.0));
    assert_eq!(compute.charge(LIBRARY_NS), 2 * LIBRARY_NS * 1000);
    compute.act();
    assert_eq!(compute.charge(LIBRARY_NS - 1), 0);
    assert_eq!(compute.charge(WAITING_NS - 1), 0);
    assert_eq!(compute.charge(WAITING_NS), 2 * WAITING_NS * 1000);
    let mut none = Compute::new(Mode::None);
    assert_eq!(none.charge(1_000_000), 0);
    assert_eq!(none.charge(LIBRARY_NS), 0);
    assert_eq!(none.left_out_ns(), 1_000_000);
}

#[test]
fn a_record_replays_however_often_the_program_polls() {
    let mut measured = Compute::new(Mode::Measured(1.0));
    let first = measured.charge(10_000);
    measured.act();
    let second = measured.charge(20_000) + measured.charge(300_000);
    measured.act();
    measured.act();
    let third = measured.charge(40_000);
    let text = Record::text(&[measured.record(0), measured.record(1)]);
    let record: Record = text.parse().expect("a record");
    for rank in [0, 1] {
        let mut replayed = Compute::new(Mode::Recorded(record.of_rank(rank)));
        assert_eq!(replayed.charge(999_999), first);
        replayed.act();
        assert_eq!(replayed.charge(0), second);
        assert_eq!(replayed.charge(5_000), 0);
        replayed.act();
        assert_eq!(replayed.charge(0), 0);
        assert_eq!(replayed.unreached(), 1);
        replayed.act();
        assert_eq!(replayed.charge(0), third);
        assert_eq!(replayed.unreached(), 0);
        assert_eq!(replayed.record(rank), measured.record(rank));
    }
    assert_eq!(record.of_rank(2), BTreeMap::new());
}

#[test]
fn a_replay_that_takes_two_completions_at_once_loses_no_charge() {
    let record = BTreeMap::from([(1, 5), (2, 7), (4, 9)]);
    let mut compute = Compute::new(Mode::Recorded(record));
    compute.act();
    compute.act();
    assert_eq!(compute.charge(0), 12);
    assert_eq!(compute.charge(0), 0);
    assert_eq!(compute.unreached(), 1);
}

#[test]
fn what_is_no_record_is_refused_with_the_line() {
    let error = |text: &str| text.parse::<Record>().expect_err("no record");
    assert!(error("").contains("first line"));
    assert!(error("rank,actions,compute_ps\n0,1\n").contains("line 2"));
    assert!(error("rank,actions,compute_ps\n0,1,2\n0,1,3\n").contains("line 3"));
    assert!(error("rank,actions,compute_ps\n4294967296,1,2\n").contains("no rank"));
}
