//! `pagemill mrc` as a user runs it.

use std::path::Path;

use crate::common::{Finished, compile, pagemill, run, run_in};
use pagemill_testkit::skip;
use serde_json::Value;

/// A loop over `pages` pages, a line each 64 bytes, `rounds` times.
fn lackey_loop(pages: u64, rounds: u64) -> String {
    let lines = (0..pages * 64).map(|line| format!(" L {:x},8\n", 0x1000_0000 + 64 * line));
    lines.collect::<String>().repeat(rounds as usize)
}

fn folder_with(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("loop.txt"), text).expect("a trace");
    folder
}

/// 4 colors of 2 ways: each holds 2 pages.
const SMALL: [&str; 4] = ["--cache", "32KiB", "--ways", "2"];

/// The curve of `loop.txt` in the small cache.
fn curve(folder: &Path, options: &[&str]) -> Value {
    let arguments = [
        &["mrc", "loop.txt", "--format", "json"],
        options,
        &SMALL[..],
    ]
    .concat();
    serde_json::from_str(&run_in(folder, &arguments).result()).expect("JSON")
}

#[test]
fn a_loop_misses_until_it_fits() {
    // 6 pages need 3 colors; with fewer, a loop over more lines than ways misses always where 3 pages meet.
    let folder = folder_with(&lackey_loop(6, 10));
    let json = curve(folder.path(), &["--stack-distance"]);
    let rows = json["rows"].as_array().expect("rows");
    let misses: Vec<u64> = rows
        .iter()
        .map(|row| row["misses"].as_u64().expect("a count"))
        .collect();
    // 4 colors: pages 0 and 4, 1 and 5 share one; nothing is evicted.
    assert_eq!(misses, [3840, 3840, 384, 384]);
    // Fully associative, three colors hold exactly 6 pages.
    let approximate: Vec<f64> = rows
        .iter()
        .map(|row| row["stack_distance_miss_ratio"].as_f64().expect("a ratio"))
        .collect();
    assert_eq!(approximate, [1.0, 1.0, 0.1, 0.1]);
    let facts = &json["summary"]["facts"];
    assert_eq!(facts["task_0_class"], "A", "{facts}");
    assert_eq!(facts["task_0_best_quota_colors"], 3, "{facts}");
    assert_eq!(facts["task_0_stack_distance_error_largest"], 0.0, "{facts}");
}

#[test]
fn stack_distances_are_off_where_sets_fill_unevenly() {
    // 7 pages on 3 colors: three of them meet in one and miss always, the others find room; 6 pages fit in all.
    let folder = folder_with(&lackey_loop(7, 10));
    let json = curve(folder.path(), &["--stack-distance"]);
    let facts = &json["summary"]["facts"];
    let error = |name: &str| {
        facts[format!("task_0_stack_distance_error_{name}")]
            .as_f64()
            .expect("a distance")
    };
    assert!((error("largest") - 36.0 / 70.0).abs() < 1e-9, "{facts}");
    assert!((error("mean") - 9.0 / 70.0).abs() < 1e-9, "{facts}");
}

#[test]
fn a_sample_watches_part_of_the_lines() {
    let folder = folder_with(&lackey_loop(6, 10));
    let arguments = [
        &["mrc", "loop.txt", "--format", "csv", "--sample", "16"],
        &SMALL[..],
    ]
    .concat();
    let csv = run_in(folder.path(), &arguments).result();
    let last = csv.lines().last().expect("a row");
    assert!(last.starts_with("0,4,32768,3840,24,0.1"), "{csv}");
}

#[test]
fn a_sample_says_how_far_off_it_is() {
    // Lines of 6 pages in a loop, and half of the lines of one page once: the places differ.
    let mut text = lackey_loop(6, 10);
    (0..32).for_each(|line| text.push_str(&format!(" L {:x},8\n", 0x90_0000 + line * 64)));
    let folder = folder_with(&text);
    let arguments = [
        &[
            "mrc", "loop.txt", "--format", "json", "--sample", "16", "--exact",
        ],
        &SMALL[..],
    ]
    .concat();
    let json: Value =
        serde_json::from_str(&run_in(folder.path(), &arguments).result()).expect("JSON");
    let last = &json["rows"].as_array().expect("rows")[3];
    // 6 x 64 first touches and 32 others, of 3840 + 32 references.
    assert_eq!(last["exact_miss_ratio"], 416.0 / 3872.0, "{last}");
    assert!(
        last["miss_ratio_standard_error"]
            .as_f64()
            .expect("an error")
            > 0.0,
        "{last}"
    );
    let facts = &json["summary"]["facts"];
    let largest = facts["task_0_sample_error_largest"]
        .as_f64()
        .expect("a distance");
    assert!((0.0..0.01).contains(&largest), "{facts}");
}

#[test]
fn what_cannot_be_is_said_before_the_trace_is_read() {
    let error = run(&["mrc", "there-is-no-such-file"]).error(2);
    assert!(
        error.contains("there-is-no-such-file: No such file"),
        "{error}"
    );
    let error = run(&["mrc", "x", "--cache", "32KiB", "--ways", "8"]).error(2);
    assert!(error.contains("there is only one color"), "{error}");
    let error = run(&["mrc", "x", "--sample", "7"]).error(2);
    assert!(
        error.contains("the step must divide the 64 lines of a page"),
        "{error}"
    );
}

#[test]
fn a_trace_or_a_program_has_to_be_named() {
    run(&["mrc"]).error(2);
    run(&["mrc", "x", "--", "cat"]).error(2);
    run(&["mrc", "x", "--stdin", "y"]).error(2);
}

#[test]
fn what_cannot_be_recorded_is_said_before_anything_is_fetched() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/bin/sh\n").expect("a file");
    let error =
        |arguments: &[&str]| run_in(folder.path(), &[&["mrc"], arguments].concat()).error(2);
    let said = error(&["--", "there-is-no-such-program"]);
    assert!(
        said.contains("there is no program there-is-no-such-program"),
        "{said}"
    );
    let said = error(&["--", "./script"]);
    assert!(
        said.contains("script is a script, or cannot be read"),
        "{said}"
    );
    let said = error(&["--ways", "23", "--", "cat"]);
    assert!(said.contains("power of two"), "{said}");
}

#[test]
fn without_an_emulator_nothing_is_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = pagemill(folder.path())
        .env("PATH", folder.path())
        .args(["mrc", "--", "/bin/cat"])
        .output()
        .expect("the command starts");
    let said = Finished::from(output).error(3);
    assert!(said.contains("sudo apt-get install qemu-user"), "{said}");
}

/// What the program of `stream.c` refers to: 2 MiB of its heap, line by line, 8 times.
const STREAM_PAGES: u64 = 512;
const STREAM_LINES: u64 = 64 * STREAM_PAGES;
const STREAM_PASSES: u64 = 8;

/// What the C library and the loader refer to, on as many colors.
const OTHER_MISSES_MAX: u64 = 3000;

#[test]
fn a_program_s_curve_is_the_one_that_is_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = include_str!("../../../../kmod/plugin_cache/guest/stream.c");
    if pagemill_linux::library::emulator("this test").is_err() {
        return skip("there is no user mode of QEMU");
    }
    if !compile(folder.path(), "stream", source) {
        return;
    }
    let arguments = ["mrc", "--format", "json", "--", "./stream"];
    let finished = run_in(folder.path(), &arguments);
    // What the program prints goes to standard error.
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let curve: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let rows = curve["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 64);
    for row in rows {
        let number = |name: &str| row[name].as_u64().expect("a count");
        let (colors, misses) = (number("colors"), number("misses"));
        // Pages of a color: all of them stay, or none does, since who comes around finds what was used least recently gone.
        let expected = if STREAM_PAGES.div_ceil(colors) + 2 <= 24 {
            STREAM_LINES
        } else if STREAM_PAGES / colors > 24 {
            STREAM_LINES * STREAM_PASSES
        } else {
            continue;
        };
        assert!(
            (expected..=expected + OTHER_MISSES_MAX).contains(&misses),
            "{misses} misses on {colors} colors, and {expected} are known"
        );
    }
}

#[test]
fn damaged_traces_give_no_curve() {
    let folder = folder_with("hello\n");
    assert!(
        run_in(folder.path(), &["mrc", "loop.txt"])
            .error(2)
            .contains("this is no trace")
    );
    let folder = folder_with(" L 10,8\nhello\n L 20,8\n".repeat(40_000).as_str());
    let error = run_in(
        folder.path(),
        &["mrc", "loop.txt", "--trace-format", "lackey"],
    )
    .error(1);
    assert!(error.contains("line 2 is no reference: `hello`"), "{error}");
    let folder = folder_with("I  10,3\n");
    assert!(
        run_in(folder.path(), &["mrc", "loop.txt"])
            .error(2)
            .contains("no reference to data")
    );
}
