use super::*;

fn set() -> ResultSet {
    let row = |workload: &str, mode: &str, time: u64, touched: u64| {
        Row::new()
            .parameter("workload", workload)
            .parameter("mode", mode)
            .metric("time_ns", time)
            .metric("touched_bytes", touched)
            .metric("migrated_bytes", 1000u64)
    };
    ResultSet {
        rows: vec![
            row("bfs", "copy", 100, 10),
            row("bfs", "whole", 400, 20),
            row("lib", "copy", 200, 30),
            row("lib", "whole", 200, 40),
        ],
        ..ResultSet::default()
    }
}

fn spec(expect: Expectation) -> ClaimSpec {
    ClaimSpec {
        id: "slowdown".to_owned(),
        text: "whole pages are slower".to_owned(),
        published: Some(2.0),
        note: String::new(),
        measure: Measure {
            metric: "time_ns".to_owned(),
            per: None,
            of: vec![("mode".to_owned(), "whole".into())],
            to: Some(vec![("mode".to_owned(), "copy".into())]),
            normalize_to: None,
            across: "workload".to_owned(),
            members: Vec::new(),
            reduce: Reduce::Arithmetic,
        },
        expect,
    }
}

fn at_least(bound: f64) -> Expectation {
    Expectation::Between {
        at_least: Some(bound),
        at_most: None,
    }
}

#[test]
fn means_are_of_ratios() {
    let claim = evaluate(&spec(at_least(2.5)), &set(), &[]);
    assert_eq!(
        (claim.measured, claim.holds, claim.kind),
        (Some(Value::Float(2.5)), Some(true), ColumnKind::Ratio)
    );
    let mut geometric = spec(at_least(2.1));
    geometric.measure.reduce = Reduce::Geometric;
    let claim = evaluate(&geometric, &set(), &[]);
    assert_eq!(
        (claim.measured, claim.holds),
        (Some(Value::Float(2.0)), Some(false))
    );
}

/// bfs: 100 by copy, 400 whole, 50 in part; lib: 200, 200, 200. Over the copy the means are 2.5 and 0.75.
#[test]
fn means_of_normalized_sides_are_divided() {
    let mut set = set();
    for (workload, time) in [("bfs", 50u64), ("lib", 200)] {
        let row = Row::new().parameter("workload", workload);
        set.rows
            .push(row.parameter("mode", "part").metric("time_ns", time));
    }
    let mut spec = spec(at_least(3.0));
    let copy = spec
        .measure
        .to
        .replace(vec![("mode".to_owned(), "part".into())]);
    assert_eq!(evaluate(&spec, &set, &[]).measured, Some(Value::Float(4.5)));
    spec.measure.normalize_to = copy;
    assert_eq!(
        evaluate(&spec, &set, &[]).measured,
        Some(Value::Float(2.5 / 0.75))
    );
}

#[test]
fn extremes_and_ranks() {
    let mut extreme = spec(at_least(0.0));
    extreme.measure.reduce = Reduce::Minimum;
    assert_eq!(
        evaluate(&extreme, &set(), &[]).measured,
        Some(Value::Float(1.0))
    );
    let highest = evaluate(&spec(Expectation::Highest(vec!["bfs".into()])), &set(), &[]);
    assert_eq!(
        (highest.measured, highest.holds),
        (Some("bfs (4.00×)".into()), Some(true))
    );
    assert_eq!(
        evaluate(&spec(Expectation::Lowest(vec!["bfs".into()])), &set(), &[]).holds,
        Some(false)
    );
}

#[test]
fn one_metric_per_another() {
    let mut share = spec(at_least(0.0));
    share.measure = Measure {
        metric: "touched_bytes".to_owned(),
        per: Some("migrated_bytes".to_owned()),
        to: None,
        reduce: Reduce::Maximum,
        ..share.measure
    };
    let claim = evaluate(&share, &set(), &[]);
    assert_eq!(
        (claim.measured, claim.kind),
        (Some(Value::Float(0.04)), ColumnKind::Rate)
    );
}

#[test]
fn what_the_run_lacks_is_said_and_not_judged() {
    let mut lacking = spec(at_least(1.0));
    lacking.measure.members = vec!["bfs".into(), "mum".into()];
    let claim = evaluate(&lacking, &set(), &[]);
    assert_eq!((claim.measured, claim.holds), (None, None));
    assert_eq!(
        claim.note,
        "not judged: this run has no row for workload = mum"
    );
    let mut nothing = spec(at_least(1.0));
    nothing.measure.of = vec![("mode".to_owned(), "ideal".into())];
    assert_eq!(evaluate(&nothing, &set(), &[]).holds, None);
    let mut half = spec(at_least(1.0));
    half.measure.to = Some(vec![("mode".to_owned(), "ideal".into())]);
    assert_eq!(
        evaluate(&half, &set(), &[]).note,
        "not judged: no time_ns for workload = bfs"
    );
}

/// What `set()` was made of.
fn planned() -> Vec<Selection> {
    let set = set();
    set.rows.into_iter().map(|row| row.parameters).collect()
}

#[test]
fn a_claim_needs_all_rows_that_it_speaks_of() {
    let mut one_mode = set();
    one_mode
        .rows
        .retain(|row| row.get("workload") != Some(&"lib".into()));
    let claim = evaluate(&spec(at_least(1.0)), &one_mode, &planned());
    assert_eq!((claim.holds, claim.measured), (None, None));
    assert!(
        claim
            .note
            .contains("no row for workload = lib, mode = copy and 1 more"),
        "{}",
        claim.note
    );
    let mut of_bfs = spec(at_least(1.0));
    of_bfs.measure.members = vec!["bfs".into()];
    assert_eq!(evaluate(&of_bfs, &one_mode, &planned()).holds, Some(true));
}

/// Whatever rows are left out: a claim is judged as on all of them, or not at all.
#[test]
fn no_claim_is_judged_on_a_part_of_its_rows() {
    let full = set();
    let mut measures = vec![spec(at_least(1.0)).measure];
    measures.push(Measure {
        to: None,
        normalize_to: None,
        ..measures[0].clone()
    });
    measures.push(Measure {
        members: vec!["bfs".into()],
        ..measures[0].clone()
    });
    measures.push(Measure {
        of: Vec::new(),
        to: None,
        per: Some("touched_bytes".to_owned()),
        reduce: Reduce::Maximum,
        ..measures[0].clone()
    });
    measures.push(Measure {
        normalize_to: Some(vec![("mode".to_owned(), "copy".into())]),
        ..measures[0].clone()
    });
    let expectations = [
        at_least(1.0),
        Expectation::Highest(vec!["bfs".into()]),
        Expectation::Lowest(vec!["bfs".into()]),
    ];
    for measure in &measures {
        for expect in &expectations {
            let spec = ClaimSpec {
                measure: measure.clone(),
                ..spec(expect.clone())
            };
            let whole = evaluate(&spec, &full, &planned());
            assert!(whole.holds.is_some(), "{}", whole.note);
            for kept in 0..1u32 << full.rows.len() {
                let mut part = full.clone();
                let rows = full.rows.iter().enumerate();
                part.rows = rows
                    .filter(|(index, _)| kept >> index & 1 != 0)
                    .map(|(_, row)| row.clone())
                    .collect();
                let judged = evaluate(&spec, &part, &planned());
                assert!(
                    judged.holds.is_none() || judged == whole,
                    "rows {kept:04b}: {judged:?}, of all {whole:?}"
                );
            }
        }
    }
}
