//! The projects of `examples/ci`, tested by the commands of their workflow.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Finished, pagemill};
use crate::toolkit::Toolkit;
use serde_json::Value;

const NAMES: [&str; 3] = ["cpp", "rust", "python"];

fn examples() -> PathBuf {
    crate::toolkit::root().join("examples/ci")
}

/// The commands of a job of the workflow.
fn commands(job: &str) -> Vec<String> {
    let text = std::fs::read_to_string(examples().join("workflow.yml")).expect("the workflow");
    let begin = format!("\n  {job}:\n");
    let (_, rest) = text.split_once(&begin).expect("the job");
    let own = rest
        .lines()
        .take_while(|line| line.is_empty() || line.starts_with("    "));
    let runs = own.filter_map(|line| line.trim().strip_prefix("run: "));
    runs.map(str::to_owned).collect()
}

/// A copy of the projects, as a forge checks them out.
fn checked_out() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mut copy = Command::new("cp");
    copy.arg("-r").args(NAMES.map(|name| examples().join(name)));
    assert!(
        copy.arg(folder.path())
            .status()
            .expect("cp starts")
            .success()
    );
    folder
}

/// Runs a command of the workflow where `programs` are found first.
fn run(folder: &Path, command: &str, programs: &[PathBuf]) -> Finished {
    let own = pagemill(folder);
    let own = Path::new(own.get_program()).parent().expect("its folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = programs.iter().cloned().chain([own.to_path_buf()]);
    let folders = folders.chain(std::env::split_paths(&path));
    let mut shell = Command::new("sh");
    shell.current_dir(folder).args(["-ec", command]);
    shell.env("PATH", std::env::join_paths(folders).expect("a path"));
    if let Some(toolkit) = programs.first() {
        shell.env("LIBRARY_PATH", toolkit.with_file_name("lib"));
    }
    Finished::from(shell.output().expect("sh starts"))
}

#[test]
fn a_project_with_googletest() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let (folder, programs) = (checked_out(), [toolkit.programs()]);
    let [build, test] = &commands("cpp")[..] else {
        panic!("a build and a test");
    };
    for command in [build, test] {
        let finished = run(folder.path(), command, &programs);
        assert_eq!(
            finished.code,
            Some(0),
            "{}{}",
            finished.stdout,
            finished.stderr
        );
    }
    for made in ["cpp.xml", "check/findings.sarif"] {
        assert!(folder.path().join(made).is_file(), "{made}");
    }
    // A barrier that is missing fails the job, by its line.
    let without = format!("make -C cpp clean && {build} CPPFLAGS=-DWITHOUT_BARRIER");
    let finished = run(folder.path(), &without, &programs);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let finished = run(folder.path(), test, &programs);
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    let text = std::fs::read_to_string(folder.path().join("check/findings.sarif"));
    let log: Value = serde_json::from_str(&text.expect("the findings")).expect("JSON");
    let result = &log["runs"][0]["results"][0];
    let place = &result["locations"][0]["physicalLocation"]["artifactLocation"];
    assert_eq!(place["uri"], "cpp/saxpy.cuh", "{result}");
}

#[test]
fn a_rust_crate() {
    let folder = checked_out();
    for command in commands("rust") {
        let finished = run(folder.path(), &command, &[]);
        assert_eq!(
            finished.code,
            Some(0),
            "{}{}",
            finished.stdout,
            finished.stderr
        );
        assert!(finished.stdout.contains("1 passed"), "{}", finished.stdout);
    }
}

#[test]
fn a_python_package() {
    let programs = crate::toolkit::root().join("target/venv/frameworks/bin");
    let question =
        "import importlib.util, sys; sys.exit(importlib.util.find_spec('numba') is None)";
    let has_numba = Command::new(programs.join("python"))
        .args(["-c", question])
        .status();
    if !has_numba.is_ok_and(|status| status.success()) {
        pagemill_testkit::skip("there is no numba: `cargo xtask test` installs it");
        return;
    }
    let folder = checked_out();
    for command in commands("python") {
        let finished = run(folder.path(), &command, std::slice::from_ref(&programs));
        assert_eq!(
            finished.code,
            Some(0),
            "{}{}",
            finished.stdout,
            finished.stderr
        );
        assert!(finished.stderr.contains("OK"), "{}", finished.stderr);
    }
}
