//! `pagemill advise`: a ranking with reasons.

mod common;

use common::run;
use serde_json::Value;

const QUESTION: [&str; 9] = [
    "advise",
    "pattern",
    "grid-stride",
    "--factor",
    "0.02",
    "--machine",
    "v100-pcie3-x86",
    "--variant",
    "lock-step",
];

#[test]
fn strategies_are_ranked_best_first_with_reasons() {
    let arguments = [
        &QUESTION[..],
        &[
            "--strategy",
            "on-demand,zero-copy,stripe",
            "--reuse",
            "2",
            "--format",
            "json",
        ],
    ];
    let text = run(&arguments.concat()).result();
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    let rows = answer["rows"].as_array().expect("rows");
    let number = |row: &Value, name: &str| row[name].as_f64().expect("a number");
    let speed = |row: &Value| number(row, "bandwidth_with_setup_bytes_per_second");
    assert_eq!(rows.len(), 3);
    assert!(rows.is_sorted_by(|one, other| speed(one) >= speed(other)));
    // All of it fits and is read twice: moved once by striping, read over the link by zero-copy.
    assert_eq!(rows[0]["strategy"], "stripe");
    for row in rows {
        assert_eq!(row["loops"], 2);
        let ratio = number(row, "best_over_this");
        assert!((ratio - speed(&rows[0]) / speed(row)).abs() < 1e-9);
        let time_ns = 2.0 * number(row, "time_ns") + number(row, "setup_ns");
        let bytes = number(row, "bandwidth_bytes_per_second") * 2e-9 * number(row, "time_ns");
        assert!(
            (speed(row) * time_ns / 1e9 / bytes - 1.0).abs() < 1e-3,
            "{row}"
        );
        assert!(!row["why"].as_str().expect("text").is_empty());
    }
    assert!(
        !answer["description"][0]["entries"]
            .as_array()
            .expect("a list")
            .is_empty()
    );
}

/// The fastest is a choice that nothing on sale offers.
#[test]
fn what_no_gpu_does_is_last_however_fast_it_is() {
    let more = ["--strategy", "partial-pages,zero-copy", "--reuse", "2"];
    let arguments = [&QUESTION[..], &more[..], &["--format", "json"]];
    let answer: Value = serde_json::from_str(&run(&arguments.concat()).result()).expect("JSON");
    let rows = answer["rows"].as_array().expect("rows");
    let speed = |row: &Value| row["bandwidth_with_setup_bytes_per_second"].as_f64();
    let why = rows[1]["why"].as_str().expect("a reason");
    assert_eq!(rows[1]["strategy"], "partial-pages");
    assert!(why.contains("no GPU on sale does this"), "{why}");
    assert!(speed(&rows[1]) > speed(&rows[0]));
    assert_eq!(rows[0]["best_over_this"], 1.0);
}

/// README's question, whose full size is 60 GB of reads for each strategy.
#[test]
fn a_large_question_is_scaled_and_says_so() {
    let finished = run(&[
        "advise",
        "pattern",
        "grid-stride",
        "--factor",
        "1.5",
        "--machine",
        "a100-pcie4-x86",
        "--strategy",
        "zero-copy",
        "--format",
        "json",
    ]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    for part in ["were scaled to", "differ by up to", "--full"] {
        assert!(finished.stderr.contains(part), "{}", finished.stderr);
    }
    let answer: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let error = answer["rows"][0]["scaling_error"]
        .as_f64()
        .expect("a number");
    // Reads over the link are the same at any size.
    assert!(error.abs() < 0.02, "{error}");
    assert!(
        answer["about"]
            .as_str()
            .expect("text")
            .contains("scaled to")
    );
}

#[test]
fn questions_without_an_answer_are_code_2() {
    let cases: &[(&[&str], &str)] = &[
        (&["--machine", "abacus"], "v100-pcie3-x86"),
        (&["--machine", "gtx480"], "gtx480"),
        (&["--factor", "1e9"], "at most 64"),
        (&["--stripe", "5 KiB"], "multiple of 4 KiB"),
        (&["--reuse", "5000"], "1000"),
        (&["--strategy", "luck"], "use one of on-demand"),
        (&["--machine", "a\"b"], "a\"b"),
    ];
    for (changed, expected) in cases {
        let mut arguments = QUESTION.to_vec();
        match arguments.iter().position(|word| *word == changed[0]) {
            Some(place) => arguments[place + 1] = changed[1],
            None => arguments.extend(*changed),
        }
        let error = run(&arguments).error(2);
        assert!(error.contains(expected), "{changed:?}: {error}");
    }
}

#[test]
fn questions_without_a_name_are_answered_and_named() {
    for (old, new) in [
        (
            &[
                "advise",
                "--factor",
                "1.5",
                "--pattern",
                "grid-stride",
                "--machine",
                "no-gpu",
            ][..],
            "pagemill advise pattern grid-stride --factor 1.5 --machine no-gpu",
        ),
        (
            &["advise", "--pattern=grid-stride", "--factor", "x"],
            "pagemill advise pattern grid-stride --factor x",
        ),
        (&["advise", "--pattern"], "pagemill advise pattern PATTERN"),
        (
            &["advise", "a model.gguf", "--machine", "all"],
            "pagemill advise model 'a model.gguf' --machine all",
        ),
        (
            &["advise", "--runs", "x", "--", "./program", "--memory"],
            "pagemill advise program --runs x -- ./program --memory",
        ),
        (
            &["advise", "--machine", "no-gpu", "--", "./program"],
            "pagemill advise program --machine no-gpu -- ./program",
        ),
        (
            &["advise", "--memory", "x", "--", "sort", "x"],
            "pagemill advise pager --memory x -- sort x",
        ),
        (
            &["zero", "advise", "--runs", "3", "--", "./touch"],
            "pagemill advise zero --runs 3 -- ./touch",
        ),
    ] {
        let error = run(old).error(2);
        let first = error.lines().next().expect("a line");
        assert!(first.ends_with(new), "{old:?}: {error}");
    }
    assert!(run(&["advise"]).error(2).contains("Commands:"));
    let rest = &QUESTION[3..];
    let before = [&["advise", "--pattern", "grid-stride"], rest].concat();
    assert_eq!(run(&before).stdout, run(&QUESTION).result());
}
