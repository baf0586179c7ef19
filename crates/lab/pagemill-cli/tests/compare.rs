//! `pagemill report compare`: what meets, how far apart it is, and files that are none.

use crate::common::run_in;
use serde_json::{Value, json};

/// The text of a results.json with two parameters and two metrics.
fn results(rows: &[(&str, Value, Value, Value)]) -> String {
    let row = |(strategy, factor, time, rate): &(&str, Value, Value, Value)| json!({"strategy": strategy, "factor": factor, "time_ns": time, "rate": rate});
    let column = |name: &str, role: &str, kind: &str| json!({"name": name, "role": role, "kind": kind, "unit": "", "doc": ""});
    json!({
        "schema": "pagemill-results/2", "scenario": "s", "title": "S", "about": "", "pagemill_version": "1.2.3", "seed": 0,
        "columns": [
            column("strategy", "parameter", "text"), column("factor", "parameter", "number"),
            column("time_ns", "metric", "time_ns"), column("rate", "metric", "bytes_per_second"),
        ],
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
        "summary": {"claims": [], "facts": {}}, "description": [],
    })
    .to_string()
}

/// A folder with the two files.
fn folder(first: &str, second: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.json"), first).expect("a file");
    std::fs::write(folder.path().join("b.json"), second).expect("a file");
    folder
}

fn simulated() -> String {
    results(&[
        ("stripe", json!(1.0), json!(110), json!(50.0)),
        ("stripe", json!(2), json!(50), json!(100.0)),
        ("zero-copy", json!(1), json!(400), json!(7.5)),
        ("read-mostly", json!(1), json!(1), json!(1.0)),
    ])
}

fn measured() -> String {
    results(&[
        ("zero-copy", json!(1), json!(100), json!(30.0)),
        ("stripe", json!(1), json!(100), json!(55.0)),
        ("stripe", json!(2.0), json!(100), json!(50.0)),
        ("luck", json!(1), json!(1), Value::Null),
    ])
}

#[test]
fn rows_meet_by_their_parameters_in_the_order_of_the_first() {
    let folder = folder(&simulated(), &measured());
    let text = run_in(
        folder.path(),
        &["report", "compare", "a.json", "b.json", "--format", "json"],
    )
    .result();
    let compared: Value = serde_json::from_str(&text).expect("JSON");
    let rows = compared["rows"].as_array().expect("rows");
    let cells: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["strategy"].as_str(),
                row["first_time_ns"].as_u64(),
                row["second_time_ns"].as_u64(),
            )
        })
        .collect();
    assert_eq!(
        cells,
        [
            (Some("stripe"), Some(110), Some(100)),
            (Some("stripe"), Some(50), Some(100)),
            (Some("zero-copy"), Some(400), Some(100)),
        ]
    );
    let error = |row: usize| rows[row]["time_ns_error"].as_f64().expect("a number");
    assert!(
        (error(0) - 0.1).abs() < 1e-12
            && (error(1) + 0.5).abs() < 1e-12
            && (error(2) - 3.0).abs() < 1e-12
    );
    let facts = &compared["summary"]["facts"];
    let fact = |name: &str| {
        facts[name]
            .as_f64()
            .unwrap_or_else(|| panic!("{name} in {facts}"))
    };
    assert_eq!(
        (
            fact("points_compared"),
            fact("points_only_in_first"),
            fact("points_only_in_second")
        ),
        (3.0, 1.0, 1.0)
    );
    assert!((fact("time_ns_median_error") - 0.5).abs() < 1e-12);
    assert!((fact("time_ns_worst_error") - 3.0).abs() < 1e-12);
    assert_eq!(
        facts["time_ns_worst_point"],
        "strategy = zero-copy, factor = 1"
    );
    // 1.1 x 0.5 x 4 and 1.1 x 2 x 4, third roots.
    assert!((fact("time_ns_geometric_mean_ratio") - 2.2_f64.cbrt()).abs() < 1e-12);
    assert!((fact("time_ns_geometric_mean_error") - (8.8_f64.cbrt() - 1.0)).abs() < 1e-12);
    assert!(
        rows[0].get("first_rate").is_none(),
        "only the first time is compared unless more is asked for"
    );
}

#[test]
fn metrics_can_be_chosen_and_parameters_ignored() {
    let one = results(&[("stripe", json!(1), json!(10), json!(0.0))]);
    let other = results(&[("zero-copy", json!(1), json!(20), json!(0.0))]);
    let folder = folder(&one, &other);
    let arguments = [
        "report", "compare", "a.json", "b.json", "--ignore", "strategy", "--metric", "rate",
        "--metric", "time_ns",
    ];
    let text = run_in(
        folder.path(),
        &[&arguments[..], &["--format", "csv"]].concat(),
    )
    .result();
    assert_eq!(
        text,
        "factor,first_rate,second_rate,rate_error,first_time_ns,second_time_ns,time_ns_error\r\n1,0.0,0.0,0.0,10,20,-0.5\r\n"
    );
    let table = run_in(folder.path(), &arguments).result();
    assert!(
        table.starts_with("a.json (first) beside b.json (second)\n"),
        "{table}"
    );
    assert!(table.contains("-50.0 %"), "{table}");
}

#[test]
fn what_cannot_be_compared_is_code_2_and_says_why() {
    let empty = results(&[]);
    let twice = results(&[
        ("stripe", json!(1), json!(1), json!(1)),
        ("stripe", json!(1.0), json!(2), json!(1)),
    ]);
    let far = results(&[("stripe", json!(9), json!(1), json!(1))]);
    let other = simulated()
        .replace("\"strategy\"", "\"mode\"")
        .replace("\"factor\"", "\"size\"");
    let words = simulated()
        .replace("\"time_ns\"", "\"duration\"")
        .replace("\"rate\"", "\"speed\"");
    let cases: &[(&str, &[&str], &str)] = &[
        (&empty, &[], "b.json has no rows"),
        (
            &twice,
            &[],
            "rows 0 and 1 of b.json are the same point (strategy = stripe, factor = 1.00), and nothing tells them apart",
        ),
        (
            &far,
            &[],
            "`factor` is 1.00 in a.json, for example, and 9 in b.json; where that may differ, say --ignore factor",
        ),
        (
            &other,
            &[],
            "no parameter is in both: a.json has strategy, factor; b.json has mode, size",
        ),
        (&words, &[], "no number is in both"),
        (
            &measured(),
            &["--metric", "joules"],
            "`joules` is no number in both; numbers in both are time_ns, rate",
        ),
        (
            &measured(),
            &["--ignore", "color"],
            "no parameter is called `color`; in both are strategy, factor",
        ),
        (
            &measured(),
            &["--ignore", "factor"],
            "rows 0 and 1 of a.json are the same point (strategy = stripe), and only factor tells them apart",
        ),
        ("", &[], "b.json: not JSON"),
        ("{\"schema\": 1}", &[], "no results of pagemill"),
        (
            &simulated().replace("results/2", "results/9"),
            &[],
            "pagemill-results/9",
        ),
    ];
    for (second, arguments, expected) in cases {
        let folder = folder(&simulated(), second);
        let error = run_in(
            folder.path(),
            &[&["report", "compare", "a.json", "b.json"][..], *arguments].concat(),
        )
        .error(2);
        assert!(error.contains(expected), "{error} lacks {expected}");
    }
    let folder = folder("", "");
    let error = run_in(folder.path(), &["report", "compare", "none.json", "b.json"]).error(2);
    assert!(error.contains("cannot read none.json"), "{error}");
    std::fs::write(folder.path().join("a.json"), [0xff, 0xfe]).expect("a file");
    let error = run_in(folder.path(), &["report", "compare", "a.json", "b.json"]).error(2);
    assert!(error.contains("it is not UTF-8 text"), "{error}");
    let error = run_in(folder.path(), &["report", "compare", ".", "b.json"]).error(2);
    assert!(error.contains("cannot read ."), "{error}");
}
