//! Scenarios of `kind = "coloring"` as processes.

use crate::common::{run, run_in};
use serde_json::Value;

fn rows(arguments: &[&str]) -> Vec<Value> {
    let result: Value = serde_json::from_str(&run(arguments).result()).expect("JSON");
    result["rows"].as_array().expect("rows").clone()
}

/// Two small tasks.
const SMALL_PAIR: &[&str] = &[
    "run",
    "cachepm-pairs",
    "--format",
    "json",
    "--set",
    "workload={name=\"block-sort\", bytes=20000}",
    "--set",
    "workload.name=block-sort",
    "--set",
    "partner={name=\"lattice-boltzmann\", side=10, steps=2}",
    "--set",
    "partner.name=lattice-boltzmann",
];

#[test]
fn tasks_with_colors_of_their_own_cost_each_other_no_misses() {
    let rows = rows(SMALL_PAIR);
    assert_eq!(rows.len(), 2);
    for row in &rows {
        let by_others = row["misses_by_others"].as_u64().expect("a count")
            + row["partner_misses_by_others"].as_u64().expect("a count");
        match row["pages"].as_str() {
            Some("colored") => {
                assert_eq!(by_others, 0, "{row}");
                let quotas = ["first_quota_colors", "partner_first_quota_colors"]
                    .map(|name| row[name].as_u64().expect("a count"));
                assert_eq!(quotas.iter().sum::<u64>(), 64, "{row}");
            }
            _ => assert_eq!(row["quota_colors"], Value::Null, "{row}"),
        }
        let performance = row["system_performance"].as_f64().expect("a number");
        assert!((0.1..1.2).contains(&performance), "{row}");
    }
}

#[test]
fn a_program_and_its_trace_miss_alike() {
    // A loop over 40 lines of each of 100 pages, as text of Valgrind's lackey.
    let mut text = String::new();
    for _ in 0..3 {
        for line in 0..4000 {
            text.push_str(&format!(
                " L {:x},8\n",
                0x10_0000 + line / 40 * 4096 + line % 40 * 64
            ));
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("loop.txt"), text).expect("a trace");
    let scenario = "title = \"A loop\"\nkind = \"coloring\"\nmachine = \"core2-duo\"\n\
         [workload]\nname = \"trace\"\nfile = \"loop.txt\"\n\
         [coloring]\npages = \"colored\"\n[sweep]\n\"coloring.colors\" = [1, 64]\n";
    std::fs::write(folder.path().join("loop.toml"), scenario).expect("a scenario");
    let ran = run_in(folder.path(), &["run", "loop.toml", "--format", "json"]);
    let result: Value = serde_json::from_str(&ran.result()).expect("JSON");
    let rows = result["rows"].as_array().expect("rows");
    let misses: Vec<u64> = rows
        .iter()
        .map(|row| row["misses"].as_u64().expect("a count"))
        .collect();
    // One color has 24 ways for 100 pages, and a loop over more lines than ways misses always.
    assert_eq!(misses, [12_000, 4000]);
    assert_eq!(rows[0]["references"], 12_000);
}

#[test]
fn what_the_machine_does_not_have_is_said_with_its_numbers() {
    let error = run(&["run", "cachepm-single", "--set", "coloring.colors=65"]).error(2);
    assert!(error.contains("more than 64"), "{error}");
    let error = run(&[
        "run",
        "cachepm-single",
        "--set",
        "machine.l2.bytes=\"96 KiB\"",
    ])
    .error(2);
    assert!(error.contains("l2.bytes"), "{error}");
    let error = run(&[
        "run",
        "cachepm-single",
        "--set",
        "workload.name=\"network-simples\"",
    ])
    .error(2);
    assert!(error.contains("network-simplex"), "{error}");
    let error = run(&[
        "run",
        "cachepm-single",
        "--set",
        "workload={name=\"trace\", file=\"none\"}",
        "--set",
        "workload.name=trace",
    ])
    .error(2);
    assert!(error.contains("there is no such file"), "{error}");
}
