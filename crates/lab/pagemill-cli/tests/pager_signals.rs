//! Signals to `pagemill pager run`, what they leave behind: nothing, and programs that are refused.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::common::{has_userfault, names, pagemill};

/// Catches a signal, says so, and ends with its number.
const CATCHES: &str = r#"
import os, signal, sys
def caught(number, frame):
    print("caught", number, flush=True)
    os._exit(number)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
    signal.signal(number, caught)
print("ready", flush=True)
while True:
    signal.pause()
"#;

/// Eight processes that write to paged memory without an end.
const FORKS: &str = r#"
import os
memory = bytearray(8 << 20)
for _ in range(3):
    os.fork()
print("ready", flush=True)
while True:
    for at in range(0, len(memory), 4096):
        memory[at] = (memory[at] + 1) & 255
"#;

fn start(program: &str) -> (Child, BufReader<ChildStdout>) {
    let folder = std::env::temp_dir();
    start_in(&folder, "compressed", &["python3", "-c", program])
}

fn start_in(folder: &Path, to: &str, program: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut child = pagemill(folder)
        .args(["pager", "run", "--memory", "2MiB", "--to", to, "--"])
        .args(program)
        .env("TMPDIR", folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let output = BufReader::new(child.stdout.take().expect("standard output"));
    (child, output)
}

fn send(child: &Child, signal: &str) {
    let mut kill = Command::new("kill");
    kill.args(["-s", signal, &child.id().to_string()]);
    assert!(kill.status().expect("kill runs").success());
}

#[test]
fn a_signal_reaches_the_program_and_its_end_is_ours() {
    if !has_userfault() {
        return;
    }
    for (signal, number) in [("TERM", 15), ("INT", 2), ("HUP", 1), ("USR1", 10)] {
        let (mut child, mut output) = start(CATCHES);
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        send(&child, signal);
        output.read_line(&mut line).expect("a line");
        assert_eq!(line, format!("ready\ncaught {number}\n"));
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), Some(number));
    }
}

/// The pipe ends once the last process has ended that has it: so this test ends only if none is left.
#[test]
fn no_process_is_left_by_ends_at_any_moment() {
    if !has_userfault() {
        return;
    }
    for round in 0..16 {
        let signal = ["TERM", "KILL", "HUP"][round % 3];
        let (mut child, mut output) = start(FORKS);
        std::thread::sleep(Duration::from_millis(37 * round as u64));
        send(&child, signal);
        child.wait().expect("it ends");
        let mut text = String::new();
        output.read_to_string(&mut text).expect("what they wrote");
    }
}

/// Forks 50 children that read the parent's bytes, write others and say whether they read those. They stay, or end and the parent with them.
const STORM: &str = r#"
import os, signal, sys
memory = bytearray(3 << 20)
view = memoryview(memory)
places = range(0, len(memory), 4096)
def fill(by):
    for at in places:
        view[at] = (at // 4096 + by) % 251
def holds(by):
    return all(view[at] == (at // 4096 + by) % 251 for at in places)
fill(0)
places = places[::16]
for number in range(1, 51):
    if os.fork() == 0:
        is_right = holds(0)
        fill(number)
        os.write(1, b"." if is_right and holds(number) else b"x")
        if sys.argv[1] == "stay":
            signal.pause()
        os._exit(0)
if sys.argv[1] == "stay":
    signal.pause()
for number in range(50):
    os.wait()
os.write(1, b"!" if holds(0) else b"x")
"#;

#[test]
fn a_storm_of_forks_that_is_killed_leaves_nothing_and_loses_no_byte() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store");
    std::fs::create_dir(&store).expect("made");
    let storm = |word| start_in(folder.path(), "store", &["python3", "-c", STORM, word]);
    for children in [1, 20] {
        let (mut child, mut output) = storm("stay");
        let mut said = vec![0; children];
        output.read_exact(&mut said).expect("so many say it");
        send(&child, "KILL");
        child.wait().expect("it ends");
        output.read_to_end(&mut said).expect("what they wrote");
        assert!(said.iter().all(|byte| *byte == b'.'), "{said:?}");
    }
    let (mut child, mut output) = storm("end");
    let mut said = Vec::new();
    output.read_to_end(&mut said).expect("what they wrote");
    assert_eq!(said, [&[b'.'; 50][..], b"!"].concat());
    assert!(child.wait().expect("it ends").success());
    assert_eq!(names(folder.path()), ["store"]);
    assert!(names(&store).is_empty());
}

#[test]
fn a_program_that_the_library_is_not_for_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("program");
    for (text, name) in [
        ("__tsan_init", "ThreadSanitizer"),
        ("__lsan_init", "LeakSanitizer"),
        ("/lib/ld-musl-x86_64.so.1", "musl"),
    ] {
        std::fs::write(&program, format!("\x7fELF\0{text}\0")).expect("written");
        let output = pagemill(folder.path())
            .args("pager run --memory 2MiB --to compressed ./program".split(' '))
            .output()
            .expect("the command starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(!has_userfault() || said.contains(name), "{said}");
    }
    // A program that knows musl's loader, as compilers do, is not one of musl's.
    let text = format!(
        "#!/bin/sh\nexit 7\n{}\0/lib/ld-musl-x86_64.so.1\0",
        "#".repeat(8192)
    );
    std::fs::write(&program, text).expect("written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, executable).expect("executable");
    let output = pagemill(folder.path())
        .args("pager run --memory 2MiB --to compressed ./program".split(' '))
        .output()
        .expect("the command starts");
    assert!(
        !has_userfault() || output.status.code() == Some(7),
        "{output:?}"
    );
}
