//! Runs of the built-in scenarios: results, determinism, and what is left when a run fails.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{names, pagemill, run, run_in};
use serde_json::Value;

const OUT_FILES: [&str; 6] = [
    "pages.json",
    "report.html",
    "results.csv",
    "results.json",
    "results.parquet",
    "timeline.pftrace",
];

fn smoke_rows(arguments: &[&str]) -> Vec<Value> {
    let text = run(&[&["run", "smoke", "--format", "json"], arguments].concat()).result();
    let results: Value = serde_json::from_str(&text).expect("JSON");
    results["rows"].as_array().expect("rows").clone()
}

fn number(row: &Value, name: &str) -> u64 {
    row[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} in {row}"))
}

#[test]
fn results_are_the_same_bytes_for_any_number_of_jobs_and_every_time() {
    let json = |jobs| run(&["run", "smoke", "--format", "json", "--jobs", jobs]).result();
    let first = json("1");
    for jobs in ["1", "2", "5"] {
        assert_eq!(json(jobs), first, "--jobs {jobs}");
    }
    // Sampled runs execute launches without time.
    let sampled = |threads| {
        let detail = ["--set", "detail=sampled", "--threads", threads];
        let run_smoke = ["run", "smoke", "--format", "json"];
        run(&[&run_smoke[..], &detail].concat()).result()
    };
    let first = sampled("1");
    for threads in ["2", "4"] {
        assert_eq!(sampled(threads), first, "--threads {threads}");
    }
}

#[test]
fn files_are_the_same_bytes_for_any_number_of_jobs() {
    let folder = tempfile::tempdir().expect("a folder");
    for jobs in ["1", "3"] {
        run_in(
            folder.path(),
            &["run", "smoke", "--jobs", jobs, "--out", jobs],
        )
        .result();
    }
    for name in OUT_FILES {
        let read = |jobs: &str| std::fs::read(folder.path().join(jobs).join(name)).expect(name);
        assert!(read("1") == read("3"), "{name}");
    }
}

#[test]
fn json_keeps_its_contract() {
    let text = run(&["run", "smoke", "--format", "json"]).result();
    let results: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(results["scenario"], "smoke");
    assert_eq!(results["seed"], 1);
    assert_eq!(results["pagemill_version"], env!("CARGO_PKG_VERSION"));
    assert!(results["summary"].is_object());
    let rows = results["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 15);
    for row in rows {
        assert!(
            row["workload"].is_string() && row["mode"].is_string(),
            "{row}"
        );
        for name in [
            "time_ns",
            "migrated_bytes",
            "touched_bytes",
            "thread_instructions",
            "tlb_lookups",
        ] {
            number(row, name);
        }
        let rate = row["tlb_miss_rate"].as_f64().expect("a rate");
        assert!((0.0..=1.0).contains(&rate), "{row}");
        assert!(number(row, "checked_values") > 0, "{row}");
    }
}

#[test]
fn every_column_is_described() {
    let text = run(&["run", "smoke", "--format", "json"]).result();
    let results: Value = serde_json::from_str(&text).expect("JSON");
    let columns = results["columns"].as_array().expect("columns");
    for column in columns {
        assert!(
            !column["doc"].as_str().expect("a text").is_empty(),
            "{column}"
        );
    }
    let documented = include_str!("../../../../docs/results.md");
    for column in columns.iter().filter(|column| column["role"] == "metric") {
        let name = column["name"].as_str().expect("a name");
        assert!(
            documented.contains(&format!("`{name}`")),
            "docs/results.md does not describe {name}"
        );
    }
}

#[test]
fn csv_holds_the_rows_of_json() {
    let csv = run(&["run", "smoke", "--format", "csv"]).result();
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let column = header
        .iter()
        .position(|name| *name == "time_ns")
        .expect("time_ns");
    let times: Vec<u64> = lines
        .map(|line| {
            line.split(',')
                .nth(column)
                .expect("a cell")
                .parse()
                .expect("a number")
        })
        .collect();
    let expected: Vec<u64> = smoke_rows(&[])
        .iter()
        .map(|row| number(row, "time_ns"))
        .collect();
    assert_eq!(times, expected);
}

/// What holds by construction of the modes, whatever the machine.
#[test]
fn modes_are_in_order() {
    for rows in smoke_rows(&[]).chunks(5) {
        let [ideal, copy, whole, single, multi] = rows else {
            panic!("five modes")
        };
        assert_eq!(
            [ideal, copy, whole, single, multi].map(|row| row["mode"].as_str().expect("a mode")),
            [
                "ideal-overlap",
                "programmer-copy",
                "whole-page",
                "single-range",
                "multi-range",
            ]
        );
        for row in rows {
            assert!(number(ideal, "time_ns") <= number(row, "time_ns"), "{row}");
            assert_eq!(
                number(ideal, "touched_bytes"),
                number(row, "touched_bytes"),
                "{row}"
            );
            assert_eq!(
                number(ideal, "thread_instructions"),
                number(row, "thread_instructions"),
                "{row}"
            );
        }
        assert_eq!(number(ideal, "migrated_bytes"), 0);
        assert_eq!(copy["time_over_programmer_copy"], 1.0);
    }
}

#[test]
fn overrides_reach_the_machine() {
    let sets = [
        "--set",
        "transfer.mode=programmer-copy",
        "--set",
        "machine.link.bandwidth=[\"1 GB/s\", \"32 GB/s\"]",
    ];
    for rows in smoke_rows(&sets).chunks(2) {
        let [slow, fast] = rows else {
            panic!("two links")
        };
        assert_eq!(
            number(slow, "machine.link.bandwidth_bytes_per_second"),
            1_000_000_000
        );
        assert!(
            number(slow, "time_ns") > number(fast, "time_ns"),
            "{slow} {fast}"
        );
    }
}

#[test]
fn the_table_shows_readable_units() {
    let table = run(&["run", "smoke", "--jobs", "1"]).result();
    assert!(
        table.starts_with("Three programs, every transfer mode, a few kilobytes\n"),
        "{table}"
    );
    for part in ["vector-add", "multi-range", "KiB", "µs", "%"] {
        assert!(table.contains(part), "{part} in {table}");
    }
}

#[test]
fn out_holds_every_file_and_is_replaced_as_a_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let run_once = |set: &str| {
        run_in(
            folder.path(),
            &["run", "smoke", "--set", set, "--out", "results"],
        )
    };
    run_once("seed=1").result();
    let out = folder.path().join("results");
    assert_eq!(names(&out), OUT_FILES);
    let first = std::fs::read(out.join("results.json")).expect("results");
    run_once("seed=2").result();
    assert_eq!(
        (names(&out), names(folder.path())),
        (
            OUT_FILES.map(str::to_owned).to_vec(),
            vec!["results".to_owned()]
        )
    );
    assert!(std::fs::read(out.join("results.json")).expect("results") != first);
}

#[test]
fn out_with_other_files_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("mine");
    std::fs::create_dir(&out).expect("a folder");
    std::fs::write(out.join("thesis.tex"), "years of work").expect("a file");
    let message = run_in(folder.path(), &["run", "smoke", "--out", "mine"]).error(2);
    assert!(
        message.contains("mine") && message.contains("thesis.tex"),
        "{message}"
    );
    assert_eq!(
        (names(&out), names(folder.path())),
        (vec!["thesis.tex".to_owned()], vec!["mine".to_owned()])
    );
}

#[test]
fn bad_input_leaves_out_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    run_in(
        folder.path(),
        &[
            "run",
            "smoke",
            "--set",
            "transfer.unit=3 B",
            "--out",
            "new/results",
        ],
    )
    .error(2);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_failed_point_is_code_1_and_leaves_the_old_results() {
    let folder = tempfile::tempdir().expect("a folder");
    run_in(folder.path(), &["run", "smoke", "--out", "results"]).result();
    let out = folder.path().join("results");
    let before = std::fs::read(out.join("results.json")).expect("results");
    let limit = [
        "run",
        "smoke",
        "--set",
        "limits.thread_instructions=30000",
        "--out",
        "results",
    ];
    let told: Vec<String> = ["1", "2"]
        .iter()
        .map(|jobs| run_in(folder.path(), &[&limit[..], &["--jobs", jobs]].concat()).error(1))
        .collect();
    assert_eq!(told[0], told[1]);
    assert!(
        told[0].starts_with("error: point 1 (workload.name = vector-add, "),
        "{}",
        told[0]
    );
    assert!(
        told[0].contains("limits.thread_instructions")
            && told[0].contains("no results were written"),
        "{}",
        told[0]
    );
    assert_eq!(
        std::fs::read(out.join("results.json")).expect("results"),
        before
    );
    assert_eq!(names(folder.path()), ["results"]);
}

#[test]
fn a_failed_point_creates_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    run_in(
        folder.path(),
        &[
            "run",
            "smoke",
            "--set",
            "machine.dram.capacity=4 KiB",
            "--out",
            "results",
        ],
    )
    .error(1);
    assert!(names(folder.path()).is_empty());
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    // A run of minutes in any build, so that the signal comes before its end.
    let mut child = pagemill(folder.path())
        .args(["run", "vector-add-scale", "--jobs", "1", "--out", "results"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    std::thread::sleep(Duration::from_millis(300));
    assert!(interrupt(child.id()), "the signal is sent");
    let status = child.wait().expect("the command ends");
    assert!(!status.success(), "{status}");
    assert!(
        names(folder.path()).is_empty(),
        "{:?}",
        names(folder.path())
    );
}

#[cfg(unix)]
fn interrupt(process: u32) -> bool {
    let sent = Command::new("kill")
        .args(["-INT", &process.to_string()])
        .status();
    sent.is_ok_and(|status| status.success())
}

/// Every scenario of the folder runs from its path as from its name: small ones are run, all are read.
#[test]
fn a_scenario_file_and_its_built_in_copy_are_the_same() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let from_file = run_in(&root, &["run", "scenarios/smoke.toml", "--format", "json"]).result();
    assert_eq!(
        from_file,
        run(&["run", "smoke", "--format", "json"]).result()
    );
}

const STATED: &str = r#"title = "Stated"
kind = "gpu"
machine = "gtx480"

[workload]
name = "vector-add"
elements = 1024

[transfer]
page_size = "4 KiB"

[sweep]
"transfer.mode" = ["programmer-copy", "whole-page"]

[[claims]]
id = "moves-no-less"
text = "Whole pages move at least what the program copies"
published = 1.5
metric = "migrated_bytes"
of = { mode = "whole-page" }
to = { mode = "programmer-copy" }
at_least = 1.0

[[claims]]
id = "free"
text = "Nothing takes time"
metric = "time_ns"
of = { mode = "whole-page" }
at_most = 0.0

[[claims]]
id = "elsewhere"
text = "About rows that this run has not"
metric = "time_ns"
of = { mode = "single-range" }
at_least = 1.0

[[plots]]
id = "a-plot-of-its-own"
title = "Bytes as this scenario draws them"
form = "bars"
y = "migrated_bytes"
"#;

#[test]
fn claims_are_judged_and_plots_are_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("stated.toml"), STATED).expect("a scenario");
    run_in(folder.path(), &["run", "stated.toml", "--out", "out"]).result();
    let read = |name: &str| std::fs::read_to_string(folder.path().join("out").join(name));
    let results: Value = serde_json::from_str(&read("results.json").expect("json")).expect("JSON");
    let claims = results["summary"]["claims"].as_array().expect("claims");
    let holds: Vec<&Value> = claims.iter().map(|claim| &claim["holds"]).collect();
    assert_eq!(
        holds,
        [&Value::Bool(true), &Value::Bool(false), &Value::Null]
    );
    let first = &claims[0];
    assert_eq!(first["id"], "moves-no-less");
    assert_eq!(first["published"], 1.5);
    // Three vectors of a page each against the two that are copied in.
    assert_eq!(first["measured"], 1.5);
    let report = read("report.html").expect("html");
    assert!(report.contains("Bytes as this scenario draws them"));
    assert!(report.contains("Whole pages move at least what the program copies"));
}

/// Whatever is changed that the claims depend on: they keep their figures, name what was changed, and are not judged.
#[test]
fn claims_are_not_judged_on_another_experiment() {
    let folder = tempfile::tempdir().expect("a folder");
    let free = format!("claims_at_any = [\"transfer.unit\"]\n{STATED}");
    std::fs::write(folder.path().join("stated.toml"), STATED).expect("a scenario");
    std::fs::write(folder.path().join("free.toml"), free).expect("a scenario");
    let claim = |file: &str, set: &str| -> Value {
        let arguments = ["run", file, "--set", set, "--format", "json"];
        let text = run_in(folder.path(), &arguments).result();
        let results: Value = serde_json::from_str(&text).expect("JSON");
        results["summary"]["claims"][0].clone()
    };
    for (file, set, changed) in [
        (
            "stated.toml",
            "workload.elements=2048",
            "workload.elements = 2048",
        ),
        (
            "stated.toml",
            "transfer.unit=256 B",
            "transfer.unit = \"256 B\"",
        ),
        (
            "free.toml",
            "workload.elements=2048",
            "workload.elements = 2048",
        ),
    ] {
        let claim = claim(file, set);
        assert!(
            claim["holds"].is_null() && claim["measured"].is_number(),
            "{claim}"
        );
        let note = claim["note"].as_str().expect("a note");
        assert!(note.contains(&format!("this run has {changed}")), "{note}");
    }
    for (file, set) in [
        ("free.toml", "transfer.unit=256 B"),
        ("stated.toml", "machine.link.latency=600 ns"),
        ("stated.toml", "seed=9"),
        ("stated.toml", "limits.timeline_events=1000"),
        ("stated.toml", "workload.elements=1024"),
    ] {
        assert!(claim(file, set)["holds"].is_boolean(), "{file} {set}");
    }
}
