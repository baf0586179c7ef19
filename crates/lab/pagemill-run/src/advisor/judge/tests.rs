use super::*;

/// What is judged of `new` after the runs `seen`.
fn difference(seen: &[&str], new: &str) -> Option<usize> {
    judge(seen).difference(new.as_bytes())
}

fn judge(seen: &[&str]) -> Judge<'static> {
    let mut judge = Judge::new(seen[0].as_bytes(), &[]);
    seen[1..].iter().for_each(|run| judge.learn(run.as_bytes()));
    judge
}

#[test]
fn lines_that_may_differ_do() {
    let ignored = ["time".to_owned()];
    for (one, other, expected) in [
        ("a\nb\n", "a\nb\n", None),
        ("a\nb\n", "a\nc\n", Some(2)),
        ("a\n", "a\nb\n", Some(2)),
        ("a\nb\n", "b\na\n", Some(1)),
        ("x 1\nx 2\n", "x 2\nx 1\n", Some(1)),
        ("x 1\nx 2\n", "x 1\nx 2\nx 3\n", Some(3)),
        ("x -1\n", "x 1\n", Some(1)),
        ("1.5e-05\n", "1.5e-06\n", Some(1)),
        ("time 1\nb", "time 2\nb", None),
        ("time 1\nb", "no\nb", Some(1)),
        ("", "", None),
    ] {
        let found = Judge::new(one.as_bytes(), &ignored).difference(other.as_bytes());
        assert_eq!(found, expected, "{one:?} {other:?}");
    }
}

/// What runs print, what another may print, and what none may.
type Outputs = &'static [&'static str];
const CASES: [(Outputs, Outputs, Outputs); 6] = [
    // A time, an address and a date beside a result.
    (
        &[
            "sum 5.25, 9.812 ms\n[4711] at 0x7ffe10 on 2026-11-25 05:40:36\n",
            "sum 5.25, 12.31 ms\n[4720] at 0x7ffabc on 2026-11-25 05:41:02\n",
        ],
        &["sum 5.25, 1e-05 ms\n[9] at 0x7ffe11 on 2026-11-25 05:59:59\n"],
        &[
            "sum 5.26, 9.812 ms\n[4711] at 0x7ffe10 on 2026-11-25 05:40:36\n",
            "sum 5.25, 9.812 ms\nno\n",
        ],
    ),
    // Columns that are padded.
    (
        &["t =    9.8 ms\nok\n", "t =  119.8 ms\nok\n"],
        &["t = 1119.8 ms\nok\n"],
        &["t = 9.8 ms\nfailed\n"],
    ),
    // Threads that end in any order, with times of their own.
    (
        &[
            "thread 0: sum 7 in 12 us\nthread 1: sum 9 in 13 us\n",
            "thread 1: sum 9 in 10 us\nthread 0: sum 7 in 17 us\n",
        ],
        &["thread 1: sum 9 in 1 us\nthread 0: sum 7 in 2 us\n"],
        &[
            "thread 0: sum 7 in 12 us\nthread 1: sum 8 in 13 us\n",
            "thread 0: sum 7 in 12 us\n",
        ],
    ),
    // Lines of words in any order.
    (
        &["a\nb\nc\n", "b\nc\na\n"],
        &["c\nb\na\n"],
        &["a\nb\nb\n", "a\nb\n"],
    ),
    // As many lines as chance has it.
    (
        &[
            "start\nstep 1\nstep 2\nresult 5\n",
            "start\nstep 1\nresult 5\n",
        ],
        &[
            "start\nstep 1\nstep 2\nstep 3\nresult 5\n",
            "start\nresult 5\n",
        ],
        &["start\nstep 1\nresult 6\n", "start\nstep 1\n"],
    ),
    // A word of chance.
    (
        &["seed abc\nok 1\n", "seed deff\nok 1\n"],
        &["seed x\nok 1\n"],
        &["seed x\nok 2\n"],
    ),
];

#[test]
fn what_changes_by_itself_may_change_and_nothing_else() {
    for (seen, same, other) in CASES {
        for new in seen.iter().chain(same) {
            assert_eq!(difference(seen, new), None, "{seen:?} {new:?}");
        }
        for new in other {
            assert!(difference(seen, new).is_some(), "{seen:?} {new:?}");
        }
        assert!(judge(seen).has_results(), "{seen:?}");
    }
}

#[test]
fn what_is_ignored_is_named() {
    let varies = |seen: &[&str]| judge(seen).varies().join("; ");
    assert_eq!(varies(&["a 1\n"]), "");
    assert_eq!(
        varies(&["x\nsum 5, 9.8 ms\n", "x\nsum 5, 8 ms\n"]),
        "# in line 2, \"sum 5, # ms\""
    );
    assert_eq!(
        varies(&["step 1\nend\n", "step 1\nstep 2\nend\n"]),
        "lines like \"step #\"; the order of lines"
    );
    assert_eq!(varies(&["a\nb\n", "b\na\n"]), "the order of lines");
    let many = |value: usize| {
        (0..9u8)
            .map(|at| format!("{} {value}\n", char::from(b'a' + at)))
            .collect::<String>()
    };
    assert!(varies(&[&many(1), &many(2)]).ends_with("; 4 more"));
}

#[test]
fn output_without_anything_steady_is_no_result() {
    for (seen, has_results) in [
        (&["\n"][..], false),
        (&["5\n"], true),
        (&["took 5 ms\n", "took 6 ms\n"], false),
        (&["took 5 ms\n", "took 6 ms\ntook 7 ms\n"], false),
        (&["took 5 ms\nPASSED\n", "took 6 ms\nPASSED\n"], true),
        (&["abc\n", "def\n"], false),
    ] {
        assert_eq!(judge(seen).has_results(), has_results, "{seen:?}");
    }
}
