//! `pagemill pager top` beside programs that run, end and are killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use crate::common::{has_userfault, pagemill, run, run_in};
use serde_json::Value;

/// Goes through 24 MiB again and again, until standard input ends.
const PROGRAM: &str = r#"
import select, sys
memory = bytearray(24 << 20)
print("begun", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    for at in range(0, len(memory), 4096):
        memory[at] = (memory[at] + 1) % 256
"#;

fn begun(folder: &Path) -> (Child, BufReader<ChildStdout>) {
    let mut child = pagemill(folder)
        .env("TMPDIR", folder)
        .args(["pager", "run", "--memory", "8MiB", "--"])
        .args(["python3", "-S", "-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let mut stdout = BufReader::new(child.stdout.take().expect("standard output"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    assert_eq!(line, "begun\n");
    (child, stdout)
}

fn rows(folder: &Path) -> Vec<Value> {
    let arguments = [
        "pager",
        "top",
        "--once",
        "--interval",
        "0.3",
        "--folder",
        ".",
    ];
    let text = run_in(folder, &[&arguments[..], &["--format", "json"]].concat()).result();
    let results: Value = serde_json::from_str(&text).expect("JSON");
    results["rows"].as_array().expect("rows").clone()
}

#[test]
fn programs_are_shown_while_they_run_and_a_killed_one_is_not() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(rows(folder.path()), Vec::<Value>::new());
    let (mut one, _stdout) = begun(folder.path());
    let (mut other, _other_stdout) = begun(folder.path());
    let shown = rows(folder.path());
    assert_eq!(shown.len(), 2, "{shown:?}");
    for row in &shown {
        let number = |name: &str| {
            row[name]
                .as_f64()
                .unwrap_or_else(|| panic!("no {name}: {row}"))
        };
        assert_eq!(row["name"], "python3");
        assert!(
            [one.id(), other.id()].contains(&(number("process") as u32)),
            "{row}"
        );
        assert_eq!(number("memory_bytes"), f64::from(8 << 20));
        assert!(number("resident_bytes") <= f64::from(8 << 20), "{row}");
        assert!(number("read_faults_per_s") > 0.0, "{row}");
        assert!(
            number("in_bytes_per_s") > 0.0 && number("out_bytes_per_s") > 0.0,
            "{row}"
        );
        assert!(number("wait_share") > 0.0, "{row}");
    }
    one.kill().expect("our child");
    one.wait().expect("our child");
    let shown = rows(folder.path());
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(shown[0]["process"], other.id());
    drop(other.stdin.take());
    other.wait().expect("our child");
    assert_eq!(rows(folder.path()), Vec::<Value>::new());
}

#[test]
fn what_is_wrong_with_the_arguments_is_said() {
    for (arguments, word) in [
        (&["--folder", "/none/such"][..], "/none/such"),
        (&["--interval", "0"], "0.01"),
        (&["--interval", "NaN"], "0.01"),
        (&["--server", "tcp://127.0.0.1:1"], "--token-file"),
    ] {
        let finished = run(&[&["pager", "top", "--once"], arguments].concat());
        assert_eq!(finished.code, Some(2), "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(word), "{}", finished.stderr);
    }
}
