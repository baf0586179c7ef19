//! `pagemill pager` as processes: a program, a page server, and what is wrong with either.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use crate::common::{has_userfault, pagemill, run, run_in};
use serde_json::Value;

/// Writes 24 MiB, reads it twice, and says what it found.
const PROGRAM: &str = r#"
import sys
memory = bytearray(24 << 20)
view = memoryview(memory)
for at in range(0, len(memory), 4096):
    view[at] = at // 4096 % 251
print(sum(view[at] for _ in range(2) for at in range(0, len(memory), 4096)), flush=True)
if len(sys.argv) > 1:
    sys.stdin.readline()
    print(sum(view[at] for at in range(0, len(memory), 4096)))
sys.exit(7)
"#;

fn expected() -> u64 {
    2 * (0..(24 << 20) / 4096).map(|unit| unit % 251).sum::<u64>()
}

fn token(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, format!("the secret of {name} is long enough\n")).expect("written");
    path
}

/// A page server that ends with the test.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(folder: &Path) -> Self {
        token(folder, "token");
        let mut child = pagemill(folder)
            .args(["pager", "serve", "--listen", "tcp://127.0.0.1:0"])
            .args(["--token-file", "token", "--quota", "1GiB"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut line = String::new();
        let told = child.stderr.take().expect("standard error");
        BufReader::new(told).read_line(&mut line).expect("a line");
        let address = line.split_whitespace().nth(3).expect("an address");
        Self {
            address: address.to_owned(),
            child,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_program_runs_in_a_fraction_of_its_memory_and_its_traffic_is_counted() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for to in ["compressed", "."] {
        let arguments = [
            "pager", "run", "--memory", "8MiB", "--to", to, "--out", "out",
        ];
        let program = ["--format", "json", "--", "python3", "-S", "-c", PROGRAM];
        let finished = run_in(folder.path(), &[&arguments[..], &program].concat());
        assert_eq!(finished.code, Some(7), "{}", finished.stderr);
        assert!(
            finished.stderr.starts_with(&format!("{}\n", expected())),
            "{}",
            finished.stderr
        );
        assert!(
            finished.stderr.contains("\npagemill pager: "),
            "{}",
            finished.stderr
        );
        let results: Value = serde_json::from_str(&finished.stdout).expect("JSON");
        let row = &results["rows"][0];
        let number = |name: &str| {
            row[name]
                .as_u64()
                .unwrap_or_else(|| panic!("no {name}: {row}"))
        };
        assert!(number("resident_units_max") <= 2048, "{row}");
        assert!(number("written_units") >= 4096, "16 MiB do not fit: {row}");
        assert!(number("fetched_units") >= 4096, "{row}");
        assert!(folder.path().join("out/report.html").is_file());
    }
}

#[test]
fn a_program_is_stopped_when_its_server_is_killed_and_sees_no_wrong_byte() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Server::start(folder.path());
    let mut program = pagemill(folder.path())
        .args(["pager", "run", "--memory", "8MiB", "--to", &server.address])
        .args([
            "--token-file",
            "token",
            "--",
            "python3",
            "-S",
            "-c",
            PROGRAM,
            "twice",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdout = BufReader::new(program.stdout.take().expect("standard output"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    assert_eq!(line.trim(), expected().to_string());
    let status = [
        "pager",
        "status",
        "--server",
        &server.address,
        "--token-file",
        "token",
    ];
    let metrics = run_in(folder.path(), &status).result();
    assert!(
        metrics.contains("pagemill_pager_tenant_bytes{tenant=\"default\"} "),
        "{metrics}"
    );
    server.child.kill().expect("killed");
    server.child.wait().expect("ended");
    let output = {
        use std::io::Write;
        let mut input = program.stdin.take().expect("standard input");
        input.write_all(b"go on\n").expect("written");
        drop(input);
        let mut rest = String::new();
        stdout.read_line(&mut rest).expect("the end");
        assert_eq!(rest, "", "no second sum");
        program.wait_with_output().expect("ended")
    };
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("the page server at tcp://127.0.0.1:"),
        "{text}"
    );
    assert!(text.contains("the program was stopped"), "{text}");
}

#[test]
fn what_cannot_work_is_refused_before_the_program_starts() {
    let folder = tempfile::tempdir().expect("a folder");
    token(folder.path(), "token");
    let other = token(folder.path(), "other");
    let refused = |arguments: &[&str]| {
        let all = [&["pager", "run"], arguments, &["--", "echo", "started"]].concat();
        run_in(folder.path(), &all).error(2)
    };
    let text = refused(&["--memory", "64KiB"]);
    assert!(text.contains("64 KiB of frames are too few"), "{text}");
    let text = refused(&["--memory", "8MiB", "--page-size", "4KiB"]);
    assert!(
        text.contains("use a power of two from 64 KiB to 2 MiB"),
        "{text}"
    );
    let text = refused(&["--memory", "8MiB", "--eviction", "oldest"]);
    assert!(text.contains("use one of migration-order"), "{text}");
    let text = refused(&["--memory", "8MiB", "--to", "/none/such"]);
    assert!(text.contains("the folder /none/such"), "{text}");
    let text = refused(&["--memory", "8MiB", "--to", "tcp://127.0.0.1:1"]);
    assert!(text.contains("--token-file"), "{text}");
    let text = refused(&[
        "--memory",
        "8MiB",
        "--to",
        "tcp://127.0.0.1:1",
        "--token-file",
        "token",
    ]);
    assert!(
        text.contains("cannot reach the page server at tcp://127.0.0.1:1"),
        "{text}"
    );
    // An address of no computer, for documents.
    let to = ["--memory", "8MiB", "--to", "tcp://192.0.2.1:7470"];
    let text = refused(&[&to[..], &["--token-file", other.to_str().expect("text")]].concat());
    assert!(
        text.contains("use a tunnel") && text.contains("--trust-network"),
        "{text}"
    );
    let server = Server::start(folder.path());
    let other = other.to_str().expect("text");
    let text = refused(&[
        "--memory",
        "8MiB",
        "--to",
        &server.address,
        "--token-file",
        other,
    ]);
    assert!(text.contains("the tenant or its token is wrong"), "{text}");
    let text = run(&["pager", "serve"]).error(2);
    assert!(text.contains("openssl rand"), "{text}");
}
