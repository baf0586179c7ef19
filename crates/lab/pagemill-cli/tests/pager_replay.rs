//! A program under the pager, and its page trace in the simulator: the same faults, the same bytes.

use std::path::Path;

use crate::common::{compile, has_userfault, run_in};
use serde_json::Value;

/// Writes 24 MiB, goes through them in order and by chance, changes some, and gives up a part.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { SIZE = 24 << 20, UNIT = 4096 };

int main(void) {
    volatile uint8_t *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t chance = 1, total = 0;
    for (long at = 0; at < SIZE; at += UNIT) memory[at] = at / UNIT % 251;
    for (long at = 0; at < SIZE; at += UNIT) total += memory[at];
    for (int touch = 0; touch < 6000; touch++) {
        chance = chance * 6364136223846793005 + 1442695040888963407;
        long at = (chance >> 33) % (SIZE / UNIT) * UNIT;
        if (chance >> 60 < 4) memory[at] = 1;
        total += memory[at];
    }
    madvise((void *)memory, 1 << 20, MADV_DONTNEED);
    for (long at = 0; at < SIZE; at += UNIT) total += memory[at];
    printf("%lu\n", total);
    return total != 1848650;
}
"#;

/// What both count under the same names.
const COUNTS: [&str; 8] = [
    "read_faults",
    "write_faults",
    "fetched_units",
    "zero_units",
    "evicted_units",
    "written_units",
    "clean_units",
    "evicted_pages",
];

const SCENARIO: &str = r#"
title = "A recorded program"
kind = "pager"
machine = "pager-epyc"

[workload]
name = "trace"
file = "trace"

[pager]
"#;

fn row(text: &str) -> Value {
    let results: Value = serde_json::from_str(text).expect("JSON");
    results["rows"][0].clone()
}

fn paged(folder: &Path, options: &[&str]) -> Value {
    let start = ["pager", "run", "--format", "json", "--handlers", "1"];
    let finished = run_in(
        folder,
        &[&start, options, &["--", "./program"][..]].concat(),
    );
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    row(&finished.stdout)
}

fn replayed(folder: &Path, rules: &str) -> Value {
    std::fs::write(folder.join("replay.toml"), format!("{SCENARIO}{rules}")).expect("written");
    let finished = run_in(folder, &["run", "replay.toml", "--format", "json"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    row(&finished.stdout)
}

fn assert_same(measured: &Value, simulated: &Value, what: &str) {
    for name in COUNTS {
        assert_eq!(measured[name], simulated[name], "{name} of {what}");
    }
}

#[test]
fn a_replay_under_the_rules_of_its_recording_has_every_fault_and_every_byte() {
    if !has_userfault() {
        return;
    }
    for rules in [
        &["--memory", "6MiB"][..],
        &[
            "--memory",
            "8MiB",
            "--page-size",
            "2MiB",
            "--policy",
            "whole-page",
            "--read-ahead",
            "none",
        ],
        &[
            "--memory",
            "5MiB",
            "--page-size",
            "256KiB",
            "--growth",
            "density-tree",
            "--policy",
            "single-range",
        ],
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        if !compile(folder.path(), "program", PROGRAM) {
            return;
        }
        let measured = paged(folder.path(), &[rules, &["--record", "trace"]].concat());
        let simulated = replayed(folder.path(), "");
        assert_same(&measured, &simulated, &rules.join(" "));
        assert!(
            measured["written_units"].as_u64() > Some(4000),
            "{measured}"
        );
        assert_eq!(simulated["avoided_faults"], 0);
        // The same program once more, with nothing recorded.
        let again = paged(folder.path(), rules);
        assert_same(&again, &simulated, "another run");
    }
}

/// A recording in few frames knows of nearly every touch: other budgets follow from it.
#[test]
fn a_recording_in_few_frames_tells_of_other_budgets() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    if !compile(folder.path(), "program", PROGRAM) {
        return;
    }
    let recording = [
        "--memory",
        "512KiB",
        "--read-ahead",
        "none",
        "--record",
        "trace",
    ];
    paged(folder.path(), &recording);
    let measured = paged(
        folder.path(),
        &["--memory", "12MiB", "--read-ahead", "none"],
    );
    let simulated = replayed(folder.path(), "memory = \"12 MiB\"\n");
    for name in COUNTS {
        let (measured, simulated) = (&measured[name], &simulated[name]);
        let number = |value: &Value| value.as_f64().expect("a number");
        let error = (number(simulated) / number(measured) - 1.0).abs();
        assert!(error < 0.01, "{name}: {simulated} for {measured}");
    }
}

#[test]
fn what_is_no_trace_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("trace"), "something").expect("written");
    std::fs::write(folder.path().join("replay.toml"), SCENARIO).expect("written");
    let finished = run_in(folder.path(), &["run", "replay.toml"]);
    assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("this is no page trace"),
        "{}",
        finished.stderr
    );
    if has_userfault() {
        let program = [
            "pager", "run", "--memory", "8MiB", "--record", "trace", "--", "true",
        ];
        let finished = run_in(folder.path(), &program);
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
        assert!(
            finished.stderr.contains("there is such a file"),
            "{}",
            finished.stderr
        );
    }
}
