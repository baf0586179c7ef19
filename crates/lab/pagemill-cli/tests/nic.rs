//! Runs of `kind = "nic"` as a user starts them.

use crate::common::{names, run, run_in};
use serde_json::Value;

const TINY: &str = "workload=[{name=\"ring\", ranks=8, bytes=\"8 B\", iterations=2}]";

fn results(arguments: &[&str]) -> Value {
    let text = run(&[
        &["run", "pni-replay", "--format", "json", "--set", TINY],
        arguments,
    ]
    .concat())
    .result();
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn results_are_the_same_bytes_for_any_number_of_jobs() {
    let one = results(&["--jobs", "1"]);
    assert_eq!(one, results(&["--jobs", "3"]));
    let rows = one["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 3, "a row for each machine");
    for row in rows {
        assert_eq!(row["workload"], "ring");
        assert_eq!(
            (&row["messages"], &row["payload_bytes"]),
            (&16.into(), &128.into())
        );
        assert_eq!(row["rejected"], 0);
    }
}

#[test]
fn all_files_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    run_in(folder.path(), &["run", "pni-conflict", "--out", "out"]).result();
    for name in [
        "report.html",
        "results.csv",
        "results.json",
        "results.parquet",
        "timeline.pftrace",
    ] {
        assert!(folder.path().join("out").join(name).is_file(), "{name}");
    }
}

#[test]
fn a_program_that_never_ends_fails_and_says_where() {
    let folder = tempfile::tempdir().expect("a folder");
    let write =
        |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    write("stuck.goal", "num_ranks 2\nrank 1 {\nrecv 8b from 0\n}\n");
    write(
        "stuck.toml",
        "title = \"stuck\"\nkind = \"nic\"\nmachine = \"pni\"\n[workload]\nname = \"goal\"\nfile = \"stuck.goal\"\n",
    );
    let text = run_in(folder.path(), &["run", "stuck.toml"])
        .error(1)
        .replace('\n', " ");
    assert!(text.contains("rank 1") && text.contains("wait"), "{text}");
    assert_eq!(
        names(folder.path()),
        ["stuck.goal", "stuck.toml"],
        "nothing was written"
    );
}

#[test]
fn a_generated_program_is_written_as_a_schedule_that_can_be_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let workload =
        "workload={name=\"halo\", ranks=8, bytes=\"20 KiB\", iterations=2, compute=\"3 us\"}";
    let arguments = ["mpi", "goal", "pni-replay", "--set", workload];
    run_in(
        folder.path(),
        &[&arguments[..], &["--out", "halo.goal"]].concat(),
    )
    .result();
    let text = std::fs::read_to_string(folder.path().join("halo.goal")).expect("the schedule");
    assert_eq!(run(&arguments).result(), text);
    std::fs::write(
        folder.path().join("replay.toml"),
        "title = \"replay\"\nkind = \"nic\"\nmachine = \"pni\"\n[workload]\nname = \"goal\"\nfile = \"halo.goal\"\n",
    )
    .expect("a file");
    let direct = run_in(
        folder.path(),
        &[
            "run",
            "pni-replay",
            "--format",
            "json",
            "--set",
            workload,
            "--set",
            "machine=\"pni\"",
        ],
    );
    let replayed = run_in(folder.path(), &["run", "replay.toml", "--format", "json"]);
    let row = |text: String| -> Value {
        let results: Value = serde_json::from_str(&text).expect("JSON");
        results["rows"][0].clone()
    };
    let (direct, replayed) = (row(direct.result()), row(replayed.result()));
    for column in ["messages", "payload_bytes"] {
        assert_eq!(direct[column], replayed[column], "{column}");
    }
}

#[test]
fn what_is_no_program_of_messages_is_not_written() {
    for (scenario, expected) in [
        ("pni-latency", "\"latency\" is no program of messages"),
        ("smoke", "of kind \"gpu\""),
        ("all-reduce", "sweeps over several workloads"),
    ] {
        let text = run(&["mpi", "goal", scenario]).error(2).replace('\n', " ");
        assert!(text.contains(expected), "{text}");
    }
}
