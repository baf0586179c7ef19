//! `pagemill advise`: a ranking with reasons.

use crate::common::run;
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
        (
            &["--machine", "v100-pcie3"],
            "did you mean `v100-pcie3-x86`?",
        ),
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
fn an_answer_is_kept_in_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("answer");
    let out = out.to_str().expect("a name");
    let printed = run(&[
        &QUESTION[..],
        &["--strategy", "zero-copy", "--format", "csv", "--out", out],
    ]
    .concat())
    .result();
    let kept = std::fs::read_to_string(format!("{out}/results.csv")).expect("rows");
    assert_eq!(printed, kept);
    let refused = [&QUESTION[..], &["--out", "/dev/null/answer"]].concat();
    assert!(run(&refused).error(2).contains("/dev/null"));
}

#[test]
fn a_question_needs_its_name() {
    assert!(
        run(&["advise", "--", "./program"])
            .error(2)
            .contains("Usage")
    );
    assert!(run(&["advise"]).error(2).contains("Commands:"));
}
