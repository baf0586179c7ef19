//! `pagemill gpu run`: a program with hints, in front of pagemill's own driver instead of NVIDIA's.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Finished, pagemill};
use pagemill_gpu::{HintAction, Hints};
use serde_json::Value;

/// Words of the program's sum: pages 0, 4, .. and 1, 5, ..
const SUM: &str = "sum 261376\n";

/// The program, compiled into `folder`.
fn program(folder: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda/front.c");
    let program = folder.join("front");
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-o"])
        .arg(&program)
        .arg(source)
        .arg("-ldl")
        .status();
    let Ok(status) = compiled else {
        pagemill_testkit::skip("there is no C compiler");
        return None;
    };
    assert!(status.success(), "front.c compiles");
    Some(program)
}

/// Runs `pagemill cuda OUTER -- pagemill INNER -- program`: the outer one's driver is the GPU of the inner one.
fn nested(folder: &Path, outer: &[&str], inner: &[&str]) -> Finished {
    nested_with(folder, outer, inner, &[])
}

fn nested_with(
    folder: &Path,
    outer: &[&str],
    inner: &[&str],
    variables: &[(&str, &std::ffi::OsStr)],
) -> Finished {
    let mut command = pagemill(folder);
    command
        .arg("cuda")
        .args(outer)
        .args(["--", env!("CARGO_BIN_EXE_pagemill")])
        .args(inner)
        .args(["--", "./front"])
        .envs(variables.iter().copied());
    Finished::from(command.output().expect("the command starts"))
}

/// The rows of JSON that stands behind other lines.
fn rows(text: &str) -> Vec<Value> {
    let start = text
        .find('{')
        .unwrap_or_else(|| panic!("no results: {text}"));
    let results: Value = serde_json::from_str(&text[start..]).expect("JSON");
    results["rows"].as_array().expect("rows").clone()
}

fn of_table<'a>(rows: &'a [Value], table: &str) -> Vec<&'a Value> {
    rows.iter().filter(|row| row["table"] == table).collect()
}

#[test]
fn without_a_driver_it_says_what_to_install() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["libcuda.so", "libcuda.so.1"] {
        std::fs::write(folder.path().join(name), "nothing").expect("a file");
    }
    let mut command = pagemill(folder.path());
    command
        .env("LD_LIBRARY_PATH", folder.path())
        .args(["gpu", "run", "--", "true"]);
    let error = Finished::from(command.output().expect("it starts")).error(3);
    assert!(error.contains("no CUDA driver"), "{error}");
}

#[test]
fn hints_of_the_advice_reach_the_driver() {
    let folder = tempfile::tempdir().expect("a folder");
    if program(folder.path()).is_none() {
        return;
    }
    let mut advise = pagemill(folder.path());
    advise.args([
        "advise",
        "program",
        "--machine",
        "h100",
        "--runs",
        "12",
        "--hints",
        "hints.toml",
        "--",
        "./front",
    ]);
    let advised = Finished::from(advise.output().expect("it starts"));
    assert_eq!(advised.code, Some(0), "{}", advised.stderr);
    let hints =
        Hints::parse(&std::fs::read_to_string(folder.path().join("hints.toml")).expect("a file"))
            .expect("hints");
    assert!(!hints.calls.is_empty());
    let machine = ["--machine", "h100", "--format", "json"];
    let plain = nested(folder.path(), &machine, &["gpu", "run", "--format", "json"]);
    let hinted = nested(
        folder.path(),
        &machine,
        &["gpu", "run", "--hints", "hints.toml"],
    );
    assert_eq!(
        (plain.code, hinted.code),
        (Some(0), Some(0)),
        "{}{}",
        plain.stderr,
        hinted.stderr
    );
    assert!(
        plain.stderr.contains(SUM) && hinted.stderr.contains(SUM),
        "{}{}",
        plain.stderr,
        hinted.stderr
    );
    let time = |finished: &Finished| {
        let rows = rows(&finished.stdout);
        let programs = of_table(&rows, "program");
        programs
            .iter()
            .map(|row| row["time_ns"].as_f64().unwrap_or(0.0))
            .sum::<f64>()
    };
    assert!(
        time(&hinted) < time(&plain),
        "{} {}",
        time(&hinted),
        time(&plain)
    );
}

#[test]
fn the_parts_of_pages_that_a_launch_moves_are_copied_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    if program(folder.path()).is_none() {
        return;
    }
    let mut simulate = pagemill(folder.path());
    simulate.args([
        "cuda",
        "--machine",
        "h100",
        "--mode",
        "multi-range",
        "--hints",
        "parts.toml",
        "--",
        "./front",
    ]);
    let simulated = Finished::from(simulate.output().expect("it starts"));
    assert_eq!(simulated.code, Some(0), "{}", simulated.stderr);
    let text = std::fs::read_to_string(folder.path().join("parts.toml")).expect("a file");
    let parts = Hints::parse(&text).expect("hints");
    let first: Vec<_> = parts
        .calls
        .iter()
        .filter(|call| call.before_launch == Some(1))
        .collect();
    assert_eq!(first.len(), 2, "{text}");
    assert!(
        first
            .iter()
            .all(|call| call.action == HintAction::PrefetchGpu)
    );
    // A word of one page in four.
    let starts: Vec<u64> = first[0].ranges.iter().map(|range| range[0]).collect();
    assert_eq!(starts.len(), 256, "{text}");
    assert!(
        starts
            .iter()
            .enumerate()
            .all(|(place, start)| start / 16384 == place as u64),
        "{starts:?}"
    );
    let ran = nested(
        folder.path(),
        &["--machine", "h100", "--format", "json"],
        &["gpu", "run", "--hints", "parts.toml"],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains(SUM), "{}", ran.stderr);
    assert!(!ran.stderr.contains("not reached"), "{}", ran.stderr);
}

#[test]
fn changes_are_timed_on_the_gpu_too() {
    let folder = tempfile::tempdir().expect("a folder");
    if program(folder.path()).is_none() {
        return;
    }
    let inner = [
        "advise",
        "program",
        "--machine",
        "h100",
        "--runs",
        "4",
        "--on",
        "gpu",
        "--gpu-runs",
        "1",
        "--format",
        "json",
    ];
    let ran = nested(folder.path(), &["--machine", "h100"], &inner);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let rows = rows(&ran.stdout);
    let timed = of_table(&rows, "gpu");
    assert!(timed.len() >= 3, "{timed:?}");
    assert_eq!(timed[0]["change"], "as it is");
    assert!(
        timed
            .iter()
            .all(|row| row["gpu_ns"].as_u64().is_some_and(|ns| ns > 0)),
        "{timed:?}"
    );
}

#[test]
fn a_program_larger_than_its_gpu_runs_with_managed_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    if program(folder.path()).is_none() {
        return;
    }
    let outer = ["--machine", "h100", "--gpu-memory", "8MiB"];
    let of_gpu = [("OF_GPU", std::ffi::OsStr::new("1"))];
    let ran = nested_with(folder.path(), &outer, &["gpu", "run"], &of_gpu);
    assert!(
        ran.stdout.contains("cuMemAlloc_v2 gives 2"),
        "{}",
        ran.stdout
    );
    let managed = ["gpu", "run", "--managed", "--format", "json"];
    let ran = nested_with(folder.path(), &outer, &managed, &of_gpu);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains(SUM), "{}", ran.stderr);
    let rows = rows(&ran.stdout);
    assert_eq!(of_table(&rows, "process")[0]["allocations"], 2);
}

#[test]
fn hints_for_another_program_fail() {
    let folder = tempfile::tempdir().expect("a folder");
    if program(folder.path()).is_none() {
        return;
    }
    let hints = "program = \"x\"\nmachine = \"\"\nallocation = [{ number = 1, bytes = 7, name = \"p\" }]\n\
                 call = [{ allocation = 1, action = \"read-mostly\" }]\n";
    std::fs::write(folder.path().join("hints.toml"), hints).expect("written");
    let ran = nested(
        folder.path(),
        &["--functional"],
        &["gpu", "run", "--hints", "hints.toml"],
    );
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("has 4194304 bytes, and the hints are for one of 7"),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.contains(SUM), "{}", ran.stdout);
    for (text, said) in [("", "program"), ("nonsense = 1", "nonsense")] {
        std::fs::write(folder.path().join("hints.toml"), text).expect("written");
        let mut command = pagemill(folder.path());
        command.args(["gpu", "run", "--hints", "hints.toml", "--", "./front"]);
        let error = Finished::from(command.output().expect("it starts")).error(2);
        assert!(
            error.contains("hints.toml") && error.contains(said),
            "{error}"
        );
    }
}

#[test]
fn a_recording_has_the_rows_of_a_profile() {
    let folder = tempfile::tempdir().expect("a folder");
    if program(folder.path()).is_none() {
        return;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../cuda/pagemill-gpu-front/tests/fake_cupti.c");
    let library = folder.path().join("libcupti.so");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(source)
        .status();
    assert!(compiled.is_ok_and(|status| status.success()));
    let inner = ["gpu", "record", "--out", "recorded", "--format", "json"];
    let ran = nested_with(
        folder.path(),
        &["--functional"],
        &inner,
        &[("PAGEMILL_CUPTI", library.as_os_str())],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let rows = rows(&ran.stdout);
    let program = of_table(&rows, "program");
    assert!(program[0]["launches"].as_u64() > Some(0), "{program:?}");
    assert!(
        program[0]["migrated_bytes"].as_u64() > Some(0),
        "{program:?}"
    );
    assert!(
        program[0]["allocated_bytes"].as_u64() > Some(4 << 20),
        "{program:?}"
    );
    assert!(!of_table(&rows, "kernel").is_empty());
    assert!(folder.path().join("recorded/report.html").is_file());
    let partly = [
        ("PAGEMILL_CUPTI", library.as_os_str()),
        (
            "FAKE_CUPTI_FAIL",
            std::ffi::OsStr::new("cuptiActivityEnable of kind 1"),
        ),
    ];
    let ran = nested_with(
        folder.path(),
        &["--functional"],
        &["gpu", "record"],
        &partly,
    );
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("was not recorded: cuptiActivityEnable"),
        "{}",
        ran.stderr
    );
    let missing = [("PAGEMILL_CUPTI", std::ffi::OsStr::new("/nowhere"))];
    let ran = nested_with(
        folder.path(),
        &["--functional"],
        &["gpu", "record"],
        &missing,
    );
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("nvidia-cuda-cupti"), "{}", ran.stderr);
}

#[test]
fn a_run_that_moves_nothing_leaves_no_hints() {
    let folder = tempfile::tempdir().expect("a folder");
    if program(folder.path()).is_none() {
        return;
    }
    let mut command = pagemill(folder.path());
    command.args([
        "cuda",
        "--machine",
        "h100",
        "--mode",
        "zero-copy",
        "--hints",
        "none.toml",
        "--",
        "./front",
    ]);
    let ran = Finished::from(command.output().expect("it starts"));
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("nothing moved to the GPU for a launch under zero-copy"),
        "{}",
        ran.stderr
    );
    assert!(!folder.path().join("none.toml").exists());
}
