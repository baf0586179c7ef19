//! Sweeps that are kept point by point, and sites of several runs.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::{names, pagemill, run_in};

const SWEEP: [&str; 6] = ["run", "smoke", "--keep", "sweep", "--format", "json"];

fn parts(folder: &Path) -> Vec<String> {
    names(&folder.join("sweep/parts"))
}

#[test]
fn a_sweep_prints_and_keeps_what_a_run_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let swept = run_in(folder.path(), &SWEEP).result();
    let run = run_in(folder.path(), &["run", "smoke", "--format", "json"]).result();
    assert_eq!(swept, run);
    let kept = std::fs::read_to_string(folder.path().join("sweep/results/results.json"));
    assert_eq!(kept.expect("results"), run);
    assert_eq!(parts(folder.path()).len(), 15);
}

#[test]
fn points_that_are_there_are_not_run_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = run_in(folder.path(), &SWEEP).result();
    let all = parts(folder.path());
    let taken = folder.path().join("sweep/parts").join(&all[3]);
    std::fs::remove_file(&taken).expect("a part");
    let damaged = folder.path().join("sweep/parts").join(&all[5]);
    std::fs::write(&damaged, "half a file").expect("a part");
    let again = run_in(folder.path(), &SWEEP);
    assert_eq!(
        (again.code, again.stderr.as_str(), again.stdout),
        (Some(0), "13 of 15 points are in sweep already\n", first)
    );
    assert_eq!(parts(folder.path()), all);
}

#[test]
fn points_of_another_build_are_not_taken() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = run_in(folder.path(), &SWEEP).result();
    let all = parts(folder.path());
    let (digest, build) = all[3].split_once('-').expect("a digest and a build");
    assert_eq!(
        (digest.len(), build.len()),
        (64, "0123456789abcdef.parquet".len())
    );
    let folder_of_parts = folder.path().join("sweep/parts");
    let other = format!("{digest}-0123456789abcdef.parquet");
    std::fs::rename(folder_of_parts.join(&all[3]), folder_of_parts.join(&other)).expect("a part");
    let again = run_in(folder.path(), &SWEEP);
    let told = "14 of 15 points are in sweep already\n1 of 15 points in sweep are of another build of pagemill, and are run again\n";
    assert_eq!((again.stderr.as_str(), again.stdout), (told, first));
    assert_eq!(parts(folder.path()).len(), 16);
}

#[test]
fn a_failing_point_is_named_and_the_others_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let limit = ["--set", "limits.thread_instructions=60000", "--jobs", "1"];
    let message = run_in(folder.path(), &[&SWEEP[..], &limit].concat()).error(1);
    assert!(
        message.contains("limits.thread_instructions") && message.contains("kept in sweep"),
        "{message}"
    );
    assert_eq!(names(&folder.path().join("sweep")), ["parts"]);
}

#[test]
fn results_of_others_are_not_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join("sweep/results")).expect("a folder");
    std::fs::write(folder.path().join("sweep/results/thesis.tex"), "").expect("a file");
    let message = run_in(folder.path(), &SWEEP).error(2);
    assert!(message.contains("thesis.tex"), "{message}");
    assert!(parts(folder.path()).is_empty());
}

/// Starts the sweep and kills it once it has kept `points`.
fn kill_at(folder: &Path, points: usize) {
    let mut child: Child = pagemill(folder)
        .args(SWEEP)
        .args(["--jobs", "1"])
        .stdout(Stdio::null())
        .spawn()
        .expect("the command starts");
    let deadline = Instant::now() + Duration::from_secs(120);
    let kept = || {
        let parts = folder.join("sweep/parts");
        parts.is_dir() && names(&parts).len() >= points
    };
    while !kept() && Instant::now() < deadline && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it ended");
}

#[test]
fn a_killed_sweep_leaves_whole_points() {
    let folder = tempfile::tempdir().expect("a folder");
    for points in [1, 5, 9] {
        kill_at(folder.path(), points);
    }
    let swept = run_in(folder.path(), &SWEEP);
    assert_eq!(swept.code, Some(0), "{}", swept.stderr);
    let run = run_in(folder.path(), &["run", "smoke", "--format", "json"]).result();
    assert_eq!(swept.stdout, run);
}

#[test]
fn a_site_has_a_page_for_each_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let one = ["--set", "workload={ name = \"bfs\", nodes = 512 }"];
    for out in ["runs/a", "runs/b/deep"] {
        run_in(
            folder.path(),
            &[&["run", "smoke", "--out", out][..], &one].concat(),
        )
        .result();
    }
    let told = run_in(folder.path(), &["report", "runs", "--out", "site"]).result();
    assert_eq!(told, "site/index.html\n");
    assert_eq!(
        names(&folder.path().join("site")),
        ["index.html", "run-1.html", "run-2.html"]
    );
    let index = std::fs::read_to_string(folder.path().join("site/index.html")).expect("a page");
    assert!(index.contains("b/deep") && index.contains("run-2.html"));
    let original = std::fs::read(folder.path().join("runs/a/report.html")).expect("a report");
    assert_eq!(
        std::fs::read(folder.path().join("site/run-1.html")).expect("a report"),
        original
    );
}

#[test]
fn a_folder_without_runs_has_no_site() {
    let folder = tempfile::tempdir().expect("a folder");
    let message = run_in(folder.path(), &["report", ".", "--out", "site"]).error(2);
    assert!(message.contains("results.json"), "{message}");
    std::fs::write(folder.path().join("results.json"), "{}").expect("a file");
    let message = run_in(folder.path(), &["report", ".", "--out", "site"]).error(2);
    assert!(message.contains("schema"), "{message}");
    assert!(!folder.path().join("site").exists());
}
