//! Scenarios of `kind = "zeroing"` as processes.

use crate::common::run;
use serde_json::Value;

fn rows(arguments: &[&str]) -> Vec<Value> {
    let result: Value = serde_json::from_str(&run(arguments).result()).expect("JSON");
    result["rows"].as_array().expect("rows").clone()
}

#[test]
fn every_mode_and_engine_has_a_row_and_only_the_published_form_exposes_pages() {
    let rows = rows(&[
        "run",
        "zero-latency",
        "--format",
        "json",
        "--set",
        "workload.faults=100",
    ]);
    assert_eq!(rows.len(), 3 * 3 * 5);
    for row in &rows {
        let exposed = row["faults_exposed"].as_u64().expect("a count");
        let unsafe_mode = row["mode"] == "offload-async";
        assert_eq!(exposed, if unsafe_mode { 100 } else { 0 }, "{row}");
    }
}

#[test]
fn what_the_model_refuses_is_said_with_its_numbers() {
    let set = "zeroing.low=100";
    let ran = run(&[
        "run",
        "zero-latency",
        "--set",
        set,
        "--set",
        "zeroing.high=50",
    ]);
    assert_ne!(ran.code, Some(0));
    assert!(
        ran.stderr.contains("100") && ran.stderr.contains("50"),
        "{}",
        ran.stderr
    );
    let message = run(&["run", "zero-startup", "--set", "zeroing.mode=later"]).error(2);
    assert!(message.contains("zeroing.mode"), "{message}");
    let key = "machine.core.clear=5000000000 cycles";
    let message = run(&["run", "zero-startup", "--set", key]).error(2);
    assert!(message.contains("core.clear"), "{message}");
}
