use std::path::Path;
use std::sync::Arc;

use pagemill_report::{ColumnRole, Value};
use pagemill_scenario::document::SourceText;
use pagemill_scenario::{FitPlan, load_text};

use super::{Answer, Fit};
use crate::{Outcome, RunOptions, run_points};

/// A program of a few microseconds, and a claim whose published value is what a link of 8 GB/s gives.
const TEXT: &str = r#"
title = "A link to find"
kind = "gpu"
machine = "gtx480"

[workload]
name = "vector-add"
elements = 4096

[transfer]
page_size = "4 KiB"
unit = "128 B"

[sweep]
"transfer.mode" = ["ideal-overlap", "programmer-copy"]

[fit]
points = 24

[fit.keys]
"machine.link.bandwidth" = { from = "1 GB/s", to = "64 GB/s" }
"machine.link.latency" = ["500 ns", "2 us"]

[[claims]]
id = "slowdown"
text = "copying takes a multiple of the time"
published = PUBLISHED
metric = "time_ns"
of = { mode = "programmer-copy" }
to = { mode = "ideal-overlap" }
at_least = 1.0
"#;

fn fit(text: &str, sets: &[&str]) -> Result<Fit, String> {
    let source = SourceText::file(Path::new("test.toml"), text.to_owned());
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let scenario = load_text(&source, &sets).map_err(|errors| errors.render(false))?;
    let plan = FitPlan::new(Arc::new(scenario), &sets);
    plan.map(Fit::new).map_err(|errors| errors.render(false))
}

fn rows(scenario: &pagemill_scenario::Scenario, jobs: usize) -> Answer {
    match run_points(&scenario.points, jobs, &RunOptions::default(), |_| ()) {
        Ok(outcomes) => Answer::Rows(outcomes.iter().flat_map(Outcome::rows).cloned().collect()),
        Err((_, error)) => Answer::Refused(error.to_string()),
    }
}

fn searched(mut fit: Fit, jobs: usize) -> Fit {
    loop {
        let trials = fit.ask();
        if trials.is_empty() {
            return fit;
        }
        let answers: Vec<Answer> = trials
            .iter()
            .map(|trial| rows(trial.scenario.as_ref().expect("a sound setting"), jobs))
            .collect();
        fit.tell(trials.into_iter().zip(answers));
    }
}

/// The scenario with the published value that a link of 8 GB/s and 2 us gives.
fn text() -> String {
    let text = TEXT.replace("PUBLISHED", "1.0");
    let source = SourceText::file(Path::new("test.toml"), text);
    let sets = ["machine.link.bandwidth=8 GB/s", "machine.link.latency=2 us"].map(str::to_owned);
    let scenario = load_text(&source, &sets).expect("sound");
    let Answer::Rows(rows) = rows(&scenario, 1) else {
        panic!("it runs")
    };
    let set = crate::result_set(&scenario, rows.into_iter());
    let figure = set.summary.claims[0]
        .measured
        .as_ref()
        .and_then(Value::as_f64);
    TEXT.replace("PUBLISHED", &format!("{:?}", figure.expect("a figure")))
}

#[test]
fn it_finds_the_setting_that_a_figure_was_made_with() {
    let fit = searched(fit(&text(), &["fit.points=40"]).expect("sound"), 2);
    let set = fit.result_set();
    let best = set
        .rows
        .iter()
        .filter(|row| row.get("on_front") == Some(&Value::Bool(true)));
    let best: Vec<_> = best.collect();
    assert_eq!(best.len(), 1, "one target has one best setting");
    let error = best[0].number("error_rate").expect("an error");
    assert!(error.abs() < 0.02, "{error}");
    let before = set.rows[0].number("distance").expect("a distance");
    assert!(before > best[0].number("distance").expect("a distance"));
}

#[test]
fn jobs_do_not_matter_and_a_larger_budget_begins_the_same() {
    let text = text();
    let one = searched(fit(&text, &[]).expect("sound"), 1).result_set();
    let three = searched(fit(&text, &[]).expect("sound"), 3).result_set();
    assert_eq!(one, three);
    let more = searched(fit(&text, &["fit.points=30"]).expect("sound"), 3).result_set();
    let settings = |set: &pagemill_report::ResultSet| -> Vec<_> {
        set.rows
            .iter()
            .take(25)
            .map(|row| row.parameters.clone())
            .collect()
    };
    assert_eq!(settings(&one), settings(&more));
    assert_eq!((one.rows.len(), more.rows.len()), (25, 31));
    let other = searched(fit(&text, &["fit.seed=2"]).expect("sound"), 3).result_set();
    assert_ne!(settings(&one), settings(&other));
}

#[test]
fn a_search_that_was_stopped_is_marked() {
    let mut fit = fit(&text(), &[]).expect("sound");
    let trials = fit.ask();
    let answers: Vec<_> = trials
        .into_iter()
        .take(4)
        .map(|trial| {
            let answer = rows(trial.scenario.as_ref().expect("sound"), 1);
            (trial, answer)
        })
        .collect();
    fit.tell(answers);
    assert_eq!(
        fit.result_set().summary.warnings,
        ["partial: 3 of 24 settings were tried"]
    );
    assert!(!searched(self::fit(&text(), &[]).expect("sound"), 2).is_partial());
}

#[test]
fn settings_that_cannot_be_run_are_rows_with_their_reason() {
    let mut fit = fit(&text(), &["fit.points=3"]).expect("sound");
    let trials = fit.ask();
    let answers: Vec<Answer> = trials
        .iter()
        .map(|trial| match trial.number {
            2 => Answer::Refused("too slow".to_owned()),
            _ => rows(trial.scenario.as_ref().expect("sound"), 1),
        })
        .collect();
    fit.tell(trials.into_iter().zip(answers));
    assert_eq!(fit.refusals(), [(2, "too slow")]);
    let set = fit.result_set();
    assert_eq!(set.rows[2].get("refused"), Some(&Value::from("too slow")));
    // Every column that a row has is described.
    assert_eq!(set.all_columns().len(), set.columns.len());
    let keys = set
        .columns
        .iter()
        .filter(|column| column.role == ColumnRole::Parameter);
    assert_eq!(
        keys.map(|column| column.name.as_str()).collect::<Vec<_>>(),
        [
            "setting",
            "machine.link.bandwidth_bytes_per_second",
            "machine.link.latency_ns",
            "target"
        ]
    );
}

/// The error of each text has the words of what is wrong and of the remedy.
fn all_refused(cases: &[(String, &str, &str)]) {
    for (text, what, remedy) in cases {
        let error = fit(text, &[]).err().expect(what);
        assert!(
            error.contains(what) && error.contains(remedy),
            "{what}: {error}"
        );
    }
}

#[test]
fn a_search_without_keys_or_targets_says_what_to_do() {
    let plain = TEXT.replace("PUBLISHED", "2.0");
    let without = |from: &str, to: &str| {
        let begin = plain.find(from).expect("it is there");
        let end = plain.find(to).unwrap_or(plain.len());
        [&plain[..begin], &plain[end..]].concat()
    };
    let cases = [
        (
            without("[fit]", "[[claims]]"),
            "has no section [fit]",
            "add a section [fit.keys]",
        ),
        (
            without("[fit.keys]", "[[claims]]"),
            "`fit.keys` names no key",
            "[fit.keys]",
        ),
        (
            without("published", "metric"),
            "no claim of test has a published value",
            "add [[claims]]",
        ),
        (
            plain.replace("points = 24", "targets = [\"slowdwn\"]"),
            "`slowdwn` is no claim",
            "did you mean `slowdown`?",
        ),
    ];
    all_refused(&cases);
}

#[test]
fn keys_that_cannot_be_searched_say_what_to_do() {
    let plain = TEXT.replace("PUBLISHED", "2.0");
    let key = |line: &str| plain.replace("\"machine.link.latency\" = [\"500 ns\", \"2 us\"]", line);
    let cases = [
        (
            key("\"machine.link.latncy\" = [\"1 ns\", \"2 ns\"]"),
            "unknown key `machine.link.latncy`",
            "did you mean `latency`?",
        ),
        (
            key("\"machine.link.latency\" = []"),
            "nothing to choose from",
            "write more values",
        ),
        (
            key("\"machine.link.latency\" = { from = \"9 ns\", to = \"1 ns\" }"),
            "is empty",
            "less than",
        ),
        (
            key("\"machine.link.latency\" = [\"1 ns\", \"2 GB\"]"),
            "is no unit of a time",
            "ns",
        ),
        (
            key("\"transfer.mode\" = [\"whole-page\", \"tree\"]"),
            "is swept",
            "take it out of [sweep]",
        ),
        (
            plain.replace("points = 24", "points = 0"),
            "`fit.points` is 0",
            "from 1 to 100000",
        ),
        (
            plain.replace("points = 24", "point = 24"),
            "unknown key `fit.point`",
            "did you mean `points`?",
        ),
    ];
    all_refused(&cases);
    let error = fit(&plain, &["machine.link.latency=3 us"])
        .err()
        .expect("it is given");
    assert!(error.contains("is given by --set"), "{error}");
}
