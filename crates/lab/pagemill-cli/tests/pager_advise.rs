//! `pagemill advise pager`: settings ranked by replaying one recorded run, beside runs under these settings.

use crate::common::{compile, has_userfault, run_in};
use serde_json::Value;

/// Writes 24 MiB in order, then reads and writes single units of them by chance.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { SIZE = 24 << 20, UNIT = 4096 };

int main(void) {
    volatile uint8_t *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t chance = 1, total = 0;
    for (long at = 0; at < SIZE; at += UNIT) memory[at] = at / UNIT % 251 + 1;
    for (int touch = 0; touch < 8000; touch++) {
        chance = chance * 6364136223846793005 + 1442695040888963407;
        long at = (chance >> 33) % (SIZE / UNIT) * UNIT;
        if (chance >> 60 < 4) memory[at] = 1;
        total += memory[at];
    }
    printf("%lu\n", total);
    return 0;
}
"#;

/// Costs from a file, so that nothing is measured but the program.
const QUESTION: [&str; 8] = [
    "advise",
    "pager",
    "--memory",
    "8MiB",
    "--machine",
    "pager-epyc",
    "--folder",
    ".",
];

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().expect("a number")
}

#[test]
fn settings_are_ranked_by_time_and_their_traffic_is_what_a_run_has() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    if !compile(folder.path(), "program", PROGRAM) {
        return;
    }
    let options = [
        "--checks",
        "2",
        "--runs",
        "1",
        "--format",
        "json",
        "--",
        "./program",
    ];
    let finished = run_in(folder.path(), &[&QUESTION[..], &options].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let results: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let rows = results["rows"].as_array().expect("rows");
    // Two stores, three page sizes, two policies, two ways to read ahead.
    assert_eq!(rows.len(), 24);
    let times: Vec<f64> = rows.iter().map(|row| number(row, "predicted_ns")).collect();
    assert!(times.is_sorted(), "{times:?}");
    // Single units by chance: pages of 2 MiB that move as a whole are the worst.
    let last = rows.last().expect("rows");
    assert_eq!(
        (&last["policy"], &last["page_bytes"]),
        (&"whole-page".into(), &(2 << 20).into())
    );
    assert!(number(last, "fetched_bytes") > 10.0 * number(&rows[0], "fetched_bytes"));
    let expected = &results["summary"]["facts"]["error_to_expect"];
    let ratios = rows
        .iter()
        .filter_map(|row| row["predicted_over_measured"].as_f64());
    let error = ratios.map(|ratio| (ratio - 1.0).abs()).reduce(f64::max);
    let (expected, error) = (expected.as_f64().expect("a number"), error.expect("rows"));
    assert!((expected - error).abs() < 1e-9, "{expected} {error}");
    let is_usual = |row: &Value| {
        (&row["to"], &row["page_bytes"], &row["policy"])
            == (&"compressed".into(), &65536.into(), &"multi-range".into())
            && row["read_ahead"] == "streams"
    };
    let (usual, others): (Vec<&Value>, Vec<&Value>) = rows.iter().partition(|row| is_usual(row));
    assert!(
        usual.len() == 1 && number(usual[0], "peak_bytes") > 8e6,
        "{usual:?}"
    );
    let measured = others
        .iter()
        .filter(|row| row["measured_ns"].is_u64())
        .count();
    assert!((1..=2).contains(&measured), "{others:?}");
    let plain_bytes = results["summary"]["facts"]["plain_peak_bytes"].as_f64();
    assert!(
        plain_bytes.is_some_and(|bytes| (24e6..40e6).contains(&bytes)),
        "{plain_bytes:?}"
    );
    // The prediction of one setting beside a run under it.
    let of_setting = |row: &&Value| {
        let setting = (
            &row["to"],
            &row["page_bytes"],
            &row["policy"],
            &row["read_ahead"],
        );
        setting
            == (
                &"compressed".into(),
                &65536.into(),
                &"multi-range".into(),
                &"none".into(),
            )
    };
    let predicted = rows.iter().find(of_setting).expect("a row");
    let run = [
        "pager",
        "run",
        "--memory",
        "8MiB",
        "--read-ahead",
        "none",
        "--format",
        "json",
        "--",
        "./program",
    ];
    let finished = run_in(folder.path(), &run);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let measured: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let measured = &measured["rows"][0];
    let faults = number(measured, "read_faults") + number(measured, "write_faults");
    let pairs = [
        ("faults", faults),
        ("fetched_bytes", number(measured, "fetched_units") * 4096.0),
        ("written_bytes", number(measured, "written_bytes")),
    ];
    for (name, measured) in pairs {
        let predicted = number(predicted, name);
        assert!(
            (predicted / measured - 1.0).abs() < 0.01,
            "{name}: {predicted} for {measured}"
        );
    }
}

#[test]
fn the_table_ends_with_the_command_and_the_error() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    if !compile(folder.path(), "program", PROGRAM) {
        return;
    }
    let options = ["--checks", "0", "--store", "compressed", "--", "./program"];
    let finished = run_in(folder.path(), &[&QUESTION[..], &options].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let text = finished.stdout;
    assert!(
        text.contains("Fastest: pagemill pager run --memory 8192KiB --to compressed --page-size "),
        "{text}"
    );
    assert!(
        text.contains("Error of the predictions: not measured: --checks 1 measures it\nFastest: "),
        "{text}"
    );
    assert!(!text.contains("folder"), "{text}");
    assert!(!text.contains("Without a pager"), "{text}");
}

/// Random bytes do not compress: no setting keeps them in less memory.
#[test]
fn a_program_whose_bytes_do_not_compress_is_left_alone() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = r#"
#include <stdlib.h>
#include <string.h>
enum { SIZE = 24 << 20 };
int main(void) {
    unsigned *memory = malloc(SIZE);
    unsigned long chance = 1;
    for (long at = 0; at < SIZE / 4; at++) memory[at] = (chance = chance * 6364136223846793005 + 1442695040888963407) >> 32;
    return memory[chance % (SIZE / 4)] == 1;
}
"#;
    if !compile(folder.path(), "program", program) {
        return;
    }
    let options = ["--store", "compressed", "--", "./program"];
    let finished = run_in(folder.path(), &[&QUESTION[..], &options].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let text = finished.stdout;
    assert!(text.contains("Without a pager: "), "{text}");
    assert!(text.contains("Run it without a pager: "), "{text}");
    assert!(!text.contains("Fastest: "), "{text}");
}

#[test]
fn questions_without_an_answer_say_why() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (arguments, code, words) in [
        (
            &[
                "--memory",
                "8MiB",
                "--machine",
                "pager-epyc",
                "--",
                "./none",
            ][..],
            2,
            "cannot run ./none: ",
        ),
        (
            &["--memory", "8MiB", "--machine", "pager-epyc", "--", "true"],
            1,
            "needs no pager",
        ),
        (
            &[
                "--memory",
                "8MiB",
                "--machine",
                "nowhere",
                "--",
                "sh",
                "-c",
                "head -c 9M /dev/zero | sort",
            ],
            2,
            "there is no machine \"nowhere\"",
        ),
        (
            &["--memory", "8KiB", "--", "true"],
            2,
            "8 KiB of frames are too few",
        ),
        (
            &[
                "--memory",
                "8MiB",
                "--folder",
                "/none/such",
                "--store",
                "folder",
                "--",
                "true",
            ],
            2,
            "/none/such",
        ),
        (
            &["--memory", "8MiB", "--data", "rubbish", "--", "true"],
            2,
            "--data rubbish: use one of records",
        ),
        (
            &["--memory", "8MiB", "--mode", "on-demand", "--", "true"],
            2,
            "unexpected argument '--mode'",
        ),
        (&["--memory", "8MiB"], 2, "<PROGRAM>"),
    ] {
        let finished = run_in(folder.path(), &[&["advise", "pager"], arguments].concat());
        assert_eq!(
            finished.code,
            Some(code),
            "{arguments:?}: {}",
            finished.stderr
        );
        assert!(
            finished.stderr.contains(words),
            "{arguments:?}: {}",
            finished.stderr
        );
    }
}
