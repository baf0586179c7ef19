//! CUDA programs that end before their end: their results have what ran before, and say how they ended.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{Finished, on, pagemill};
use crate::toolkit::Toolkit;
use serde_json::Value;

const LAUNCHES: u64 = 3;

fn compiled(name: &str) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda/ends.cu");
    Some(Toolkit::find()?.compile_plainly(&source, name))
}

fn command(program: &Path, options: &[&str], arguments: &[&str]) -> Command {
    let mut command = pagemill(&std::env::temp_dir());
    command
        .args(["cuda", "--format", "json"])
        .args(on("gtx480", options));
    command.arg("--").arg(program).args(arguments);
    command
}

fn run(program: &Path, options: &[&str], arguments: &[&str]) -> (Finished, Value) {
    let output = command(program, options, arguments).output();
    let finished = Finished::from(output.expect("the command starts"));
    let results = serde_json::from_str(&finished.stdout).unwrap_or(Value::Null);
    (finished, results)
}

/// The row of the kernel, and whether each row says how the program ended.
fn kernel_row<'a>(results: &'a Value, ended: Option<&str>) -> &'a Value {
    let rows = results["rows"].as_array().expect("rows");
    for row in rows {
        match (row["ended"].as_str(), ended) {
            (Some(found), Some(wanted)) => assert!(found.contains(wanted), "{row}"),
            (found, wanted) => assert_eq!(found, wanted, "{row}"),
        }
    }
    let row = rows.iter().find(|row| row["kernel"] == "count_up");
    row.unwrap_or_else(|| panic!("no row of the kernel: {results}"))
}

#[test]
fn what_ran_before_an_early_end_is_in_the_results() {
    let Some(program) = compiled("ends") else {
        return;
    };
    for (how, code, ended) in [
        ("abort", 134, "signal 6 (SIGABRT)"),
        ("assert", 134, "signal 6 (SIGABRT)"),
        ("terminate", 134, "signal 6 (SIGABRT)"),
        ("_exit", 3, "exit status 3, by _exit"),
        ("_exit-well", 0, "exit status 0, by _exit"),
        ("quick_exit", 4, "exit status 4, by _exit"),
        ("segv", 139, "signal 11 (SIGSEGV)"),
        ("term", 143, "signal 15 (SIGTERM)"),
        ("kill", 137, "signal 9 (SIGKILL)"),
        ("exec", 0, "exec"),
    ] {
        for options in [&[][..], &["--functional"]] {
            let (finished, results) = run(&program, options, &[how]);
            assert_eq!(finished.code, Some(code), "{how}: {}", finished.stderr);
            let row = kernel_row(&results, Some(ended));
            assert_eq!(row["launches"], LAUNCHES, "{how}: {row}");
            let said = format!("{} ended early (", program.display());
            assert!(
                finished.stderr.contains(&said),
                "{how}: {}",
                finished.stderr
            );
            assert!(
                !finished.stderr.contains("-cudart"),
                "{how}: {}",
                finished.stderr
            );
        }
    }
}

#[test]
fn rows_are_those_of_a_whole_run() {
    let Some(program) = compiled("ends_whole") else {
        return;
    };
    for (options, launches) in [(&[][..], "40"), (&["--functional"], "2000")] {
        let (_, whole) = run(&program, options, &["well", launches]);
        let (_, early) = run(&program, options, &["abort", launches]);
        let (whole, early) = (
            kernel_row(&whole, None),
            kernel_row(&early, Some("SIGABRT")),
        );
        let mut early = early.clone();
        early["ended"] = Value::Null;
        assert_eq!(&early, whole);
        assert_eq!(early["launches"].to_string(), launches);
    }
}

#[test]
fn a_child_that_ends_leaves_its_parent_whole() {
    let Some(program) = compiled("ends_fork") else {
        return;
    };
    let (finished, results) = run(&program, &[], &["fork-after"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    kernel_row(&results, None);
}

/// A child that is forked before its parent uses the GPU has one of its own.
#[test]
fn a_child_that_ends_early_has_its_rows() {
    let Some(program) = compiled("ends_child") else {
        return;
    };
    let (finished, results) = run(&program, &[], &["fork-before"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let rows = results["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["kernel"] == "count_up");
    let row = row.unwrap_or_else(|| panic!("{results}"));
    assert_eq!(row["launches"], LAUNCHES, "{row}");
    assert_eq!(row["ended"], "by a signal, _exit, quick_exit or exec");
}

#[test]
fn the_end_of_a_program_without_cuda_is_named() {
    let Some(_) = Toolkit::find() else {
        return;
    };
    let (finished, results) = run(Path::new("/bin/sh"), &[], &["-c", "kill -SEGV $$"]);
    assert_eq!(finished.code, Some(139), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("signal 11 (SIGSEGV)"),
        "{}",
        finished.stderr
    );
    assert!(!finished.stderr.contains("-cudart"), "{}", finished.stderr);
    let ended = results["rows"][0]["ended"].as_str();
    assert!(
        ended.is_some_and(|ended| ended.contains("before its first CUDA call")),
        "{results}"
    );
}

/// The command is asked to end while a kernel runs that never ends.
#[test]
fn an_interrupted_command_shows_what_ran() {
    let Some(program) = compiled("ends_interrupted") else {
        return;
    };
    for (signal, ended) in [("INT", "signal"), ("TERM", "signal")] {
        let mut command = command(&program, &["--functional"], &["endless"]);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        while !line.contains("launched") {
            line.clear();
            assert_ne!(
                lines.read_line(&mut line).expect("text"),
                0,
                "it ends too soon"
            );
        }
        let id = child.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &id])
            .status();
        assert!(sent.expect("kill starts").success());
        let mut text = String::new();
        let mut stdout = child.stdout.take().expect("piped");
        stdout.read_to_string(&mut text).expect("text");
        assert_ne!(child.wait().expect("it ends").code(), Some(0));
        let results: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(kernel_row(&results, Some(ended))["launches"], LAUNCHES);
    }
}
