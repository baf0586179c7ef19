//! CUDA programs whose kernels launch kernels.

use std::path::{Path, PathBuf};

use crate::common::{Finished, on, pagemill};
use crate::toolkit::Toolkit;
use serde_json::Value;

/// The program, linked for the device as `-rdc=true` has it.
fn program() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda/device_launches.cu");
    // Tests of one program run side by side.
    static COMPILED: std::sync::OnceLock<Option<PathBuf>> = std::sync::OnceLock::new();
    COMPILED
        .get_or_init(|| {
            let toolkit = Toolkit::find()?;
            Some(toolkit.compile(&source, "device_launches", &["-rdc=true", "-lineinfo"]))
        })
        .clone()
}

fn run(program: &Path, options: &[&str], arguments: &[&str]) -> Finished {
    let mut command = pagemill(&std::env::temp_dir());
    command
        .arg("cuda")
        .args(on("gtx480", options))
        .arg("--")
        .arg(program);
    let output = command.args(arguments).output();
    Finished::from(output.expect("the command starts"))
}

#[test]
fn kernels_launch_kernels() {
    let Some(program) = program() else { return };
    for options in [&[][..], &["--functional"], &["--check"]] {
        let finished = run(&program, options, &[]);
        assert_eq!(
            finished.code,
            Some(0),
            "{options:?}: {}{}",
            finished.stdout,
            finished.stderr
        );
        assert!(
            finished.stdout.contains("0 wrong"),
            "{options:?}: {}",
            finished.stdout
        );
    }
}

#[test]
fn children_have_rows_and_take_time() {
    let Some(program) = program() else { return };
    let finished = run(&program, &["--format", "json"], &[]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let results: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let rows = results["rows"].as_array().expect("rows");
    let row = |kernel: &str| {
        let found = rows.iter().find(|row| row["kernel"] == kernel);
        found.unwrap_or_else(|| panic!("{kernel} in {rows:?}"))
    };
    // One grid of the host, 4 of its threads, and what they launch.
    let tree = row("tree");
    assert_eq!(tree["launches"], 1 + 4 + 16 + 64);
    assert_eq!(row("chain")["launches"], 1001);
    // Each costs a launch at least.
    let launch_ns = row("after")["time_ns"].as_u64().expect("a time") / 2;
    assert!(tree["time_ns"].as_u64() > Some(85 * launch_ns), "{tree}");
}

#[test]
fn what_children_do_wrong_is_the_error_of_the_grid() {
    let Some(program) = program() else { return };
    for (what, code, said) in [
        ("trap", "cudaErrorLaunchFailure", "kernel trap"),
        (
            "copy",
            "cudaErrorIllegalAddress",
            "a copy or fill that a kernel asked for",
        ),
    ] {
        for options in [&[][..], &["--functional"]] {
            let finished = run(&program, options, &[what]);
            assert!(finished.stdout.contains(code), "{}", finished.stdout);
            assert!(finished.stderr.contains(said), "{}", finished.stderr);
        }
    }
}

#[test]
fn a_program_as_nvcc_links_it_by_default() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda/device_launches.cu");
    let program = toolkit.compile_plainly_with(&source, "device_launches_plain", &["-rdc=true"]);
    let finished = run(&program, &["--functional"], &[]);
    assert_eq!(
        finished.code,
        Some(0),
        "{}{}",
        finished.stdout,
        finished.stderr
    );
}
