//! Searches for settings: the same for any number of jobs, kept point by point, stopped at will.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Finished, names, pagemill, run_in};
use serde_json::Value;

/// Two figures that one link cannot give: the faster it is, the nearer both come to 1.
const SCENARIO: &str = r#"
title = "A link to find"
kind = "gpu"
machine = "gtx480"

[workload]
name = "vector-add"
elements = 4096

[transfer]
page_size = "4 KiB"
unit = "128 B"

[sweep]
"transfer.mode" = ["ideal-overlap", "programmer-copy", "whole-page"]

[fit]
points = 20

[fit.keys]
"machine.link.bandwidth" = { from = "1 GB/s", to = "64 GB/s" }
"machine.gmmu.merge" = ["gpu", "sm"]

[[claims]]
id = "copying"
text = "copying first takes 8 times as long"
published = 8.0
metric = "time_ns"
of = { mode = "programmer-copy" }
to = { mode = "ideal-overlap" }
at_least = 7.0
at_most = 9.0

[[claims]]
id = "migrating"
text = "migration takes twice as long"
published = 2.0
metric = "time_ns"
of = { mode = "whole-page" }
to = { mode = "ideal-overlap" }
at_least = 1.8
at_most = 2.2
"#;

const FIT: [&str; 2] = ["fit", "link.toml"];

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("link.toml"), SCENARIO).expect("a file");
    folder
}

fn fit(folder: &Path, arguments: &[&str]) -> Finished {
    run_in(folder, &[&FIT[..], arguments].concat())
}

#[test]
fn jobs_do_not_matter_and_results_are_kept_in_every_form() {
    let folder = folder();
    let one = fit(folder.path(), &["--jobs", "1", "--format", "json"]);
    let many = fit(
        folder.path(),
        &["--jobs", "5", "--format", "json", "--out", "kept"],
    );
    assert_eq!(
        (one.code, many.code),
        (Some(0), Some(0)),
        "{}{}",
        one.stderr,
        many.stderr
    );
    assert_eq!(one.stdout, many.stdout);
    assert!(
        one.stderr
            .starts_with("the nearest: pagemill run link.toml --set 'machine.link.bandwidth="),
        "{}",
        one.stderr
    );
    let kept = std::fs::read_to_string(folder.path().join("kept/results/results.json"));
    assert_eq!(kept.expect("results"), one.stdout);
    assert_eq!(
        names(&folder.path().join("kept/results")),
        [
            "report.html",
            "results.csv",
            "results.json",
            "results.parquet"
        ]
    );
    let results: Value = serde_json::from_str(&one.stdout).expect("JSON");
    let rows = results["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2 * 21);
    let best = rows.iter().filter(|row| row["on_front"] == true).count();
    assert!(
        best >= 4,
        "two figures that exclude each other leave a choice: {best}"
    );
}

#[test]
fn the_table_has_a_column_for_each_setting_of_the_front() {
    let folder = folder();
    let done = fit(folder.path(), &[]);
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert_eq!(
        lines[0],
        "A link to find: settings nearest to the published values"
    );
    let heading = lines
        .iter()
        .position(|line| line.contains("as it is"))
        .expect("a heading");
    assert!(
        lines[heading].contains("published") && lines[heading].contains('#'),
        "{}",
        done.stdout
    );
    for name in [
        "machine.link.bandwidth",
        "machine.gmmu.merge",
        "copying",
        "migrating",
        "off by",
        "claims that hold",
    ] {
        assert!(
            lines.iter().any(|line| line.trim_start().starts_with(name)),
            "{name}: {}",
            done.stdout
        );
    }
}

#[test]
fn what_is_kept_is_not_run_again_and_a_larger_budget_goes_on() {
    let folder = folder();
    let kept = |points: &str| {
        fit(
            folder.path(),
            &["--out", "kept", "--points", points, "--format", "json"],
        )
    };
    let ten = kept("10");
    let parts = |folder: &Path| names(&folder.join("kept/parts"));
    let after_ten = parts(folder.path());
    assert_eq!(after_ten.len(), 3 * 11);
    let twenty = kept("20");
    let after_twenty = parts(folder.path());
    assert!(after_ten.iter().all(|part| after_twenty.contains(part)));
    assert_eq!(after_twenty.len(), 3 * 21);
    assert_eq!(kept("10").stdout, ten.stdout);
    assert_eq!(parts(folder.path()), after_twenty);
    assert_eq!(
        fit(folder.path(), &["--format", "json"]).stdout,
        twenty.stdout
    );
}

/// Starts a search that would take minutes, and sends `signal` once it has kept some points.
fn stopped(folder: &Path, signal: &str) -> Finished {
    let child: Child = pagemill(folder)
        .args(FIT)
        .args(["--out", "kept", "--points", "5000", "--jobs", "2"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let deadline = Instant::now() + Duration::from_secs(120);
    let kept = || {
        let parts = folder.join("kept/parts");
        parts.is_dir() && names(&parts).len() >= 40
    };
    while !kept() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    let sent = Command::new("kill")
        .args([&format!("-{signal}"), &child.id().to_string()])
        .status();
    assert!(sent.expect("kill starts").success());
    Finished::from(child.wait_with_output().expect("it ended"))
}

#[test]
fn ctrl_c_shows_what_was_found() {
    let folder = folder();
    let stopped = stopped(folder.path(), "INT");
    assert_eq!(stopped.code, Some(130), "{}", stopped.stderr);
    assert!(
        stopped
            .stderr
            .contains("the same command goes on from there"),
        "{}",
        stopped.stderr
    );
    assert!(
        !stopped.stderr.contains("could not be run"),
        "a point that was stopped is no failure: {}",
        stopped.stderr
    );
    assert!(
        stopped.stdout.contains("warning: partial: ") && stopped.stdout.contains("off by"),
        "{}",
        stopped.stdout
    );
    let kept =
        std::fs::read_to_string(folder.path().join("kept/results/results.json")).expect("results");
    let kept: Value = serde_json::from_str(&kept).expect("JSON");
    assert!(
        kept["summary"]["warnings"][0]
            .as_str()
            .is_some_and(|text| text.starts_with("partial: ")),
        "{kept}"
    );
}

#[test]
fn a_killed_search_goes_on_with_whole_points() {
    let folder = folder();
    stopped(folder.path(), "KILL");
    let again = fit(folder.path(), &["--out", "kept", "--format", "json"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(
        again.stdout,
        fit(folder.path(), &["--format", "json"]).stdout
    );
}

#[test]
fn a_setting_whose_program_fails_is_named_and_left_out() {
    let folder = folder();
    let scenario = SCENARIO.replace(
        "\"machine.gmmu.merge\" = [\"gpu\", \"sm\"]",
        "\"workload.elements\" = [4096, 8192]",
    );
    let scenario = scenario.replace("elements = 4096\n", "").replace(
        "name = \"vector-add\"",
        "name = \"vector-add\"\nelements = 2048",
    );
    std::fs::write(folder.path().join("link.toml"), scenario).expect("a file");
    let done = fit(
        folder.path(),
        &[
            "--set",
            "limits.thread_instructions=100000",
            "--format",
            "json",
        ],
    );
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(
        done.stderr.contains("could not be run: ")
            && done.stderr.contains("limits.thread_instructions"),
        "{}",
        done.stderr
    );
    let none = fit(folder.path(), &["--set", "limits.thread_instructions=1000"]);
    assert_eq!(none.code, Some(1));
    assert!(
        none.stderr.contains("no setting could be run"),
        "{}",
        none.stderr
    );
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let folder = folder();
    let cases: [(&[&str], &str); 4] = [
        (&["fit", "smoke"], "has no section [fit]"),
        (
            &["fit", "link.toml", "--set", "fit.targets=[\"copyin\"]"],
            "did you mean `copying`?",
        ),
        (
            &["fit", "link.toml", "--set", "machine.gmmu.merge=sm"],
            "is given by --set",
        ),
        (&["fit", "link.toml", "--points", "0"], "--points"),
    ];
    for (arguments, words) in cases {
        let message = run_in(folder.path(), arguments).error(2);
        assert!(message.contains(words), "{arguments:?}: {message}");
    }
    std::fs::create_dir_all(folder.path().join("taken/results")).expect("a folder");
    std::fs::write(folder.path().join("taken/results/thesis.tex"), "").expect("a file");
    let message = fit(folder.path(), &["--out", "taken"]).error(2);
    assert!(message.contains("thesis.tex"), "{message}");
}
