use super::*;

fn used(cpu_ns: u64) -> Gap {
    Gap {
        cpu_ns,
        instructions: 0,
    }
}

#[test]
fn computing_takes_its_time_but_for_what_is_the_library_s() {
    let mut compute = Compute::new(Mode::Measured(2.0));
    assert_eq!(compute.charge(used(LIBRARY_NS)), 2 * LIBRARY_NS * 1000);
    compute.act();
    assert_eq!(compute.charge(used(LIBRARY_NS - 1)), 0);
    assert_eq!(compute.charge(used(WAITING_NS - 1)), 0);
    assert_eq!(compute.charge(used(WAITING_NS)), 2 * WAITING_NS * 1000);
    let mut none = Compute::new(Mode::None);
    assert_eq!(none.charge(used(1_000_000)), 0);
    assert_eq!(none.charge(used(LIBRARY_NS)), 0);
    assert_eq!(none.left_out_ns(), 1_000_000);
}

#[test]
fn counted_instructions_all_take_their_time() {
    let mut compute = Compute::new(Mode::Counted(500));
    for instructions in [1, 1, 1_000_000] {
        let gap = Gap {
            cpu_ns: 7,
            instructions,
        };
        assert_eq!(compute.charge(gap), 500 * instructions);
    }
    assert_eq!(compute.left_out_ns(), 0);
}

#[test]
fn a_record_replays_however_often_the_program_polls() {
    let mut measured = Compute::new(Mode::Measured(1.0));
    let first = measured.charge(used(10_000));
    measured.act();
    let second = measured.charge(used(20_000)) + measured.charge(used(300_000));
    measured.act();
    measured.act();
    let third = measured.charge(used(40_000));
    let text = Record::text(&[measured.record(0), measured.record(1)]);
    let record: Record = text.parse().expect("a record");
    for rank in [0, 1] {
        let mut replayed = Compute::new(Mode::Recorded(record.of_rank(rank)));
        assert_eq!(replayed.charge(used(999_999)), first);
        replayed.act();
        assert_eq!(replayed.charge(used(0)), second);
        assert_eq!(replayed.charge(used(5_000)), 0);
        replayed.act();
        assert_eq!(replayed.charge(used(0)), 0);
        assert_eq!(replayed.unreached(), 1);
        replayed.act();
        assert_eq!(replayed.charge(used(0)), third);
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
    assert_eq!(compute.charge(used(0)), 12);
    assert_eq!(compute.charge(used(0)), 0);
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
