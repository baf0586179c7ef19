//! Runs of `kind = "nic"` as a user starts them.

use crate::common::{run, run_in};
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
