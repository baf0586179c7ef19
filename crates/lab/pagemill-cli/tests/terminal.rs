//! What stands on the terminal that the command was started in.

use std::fs;
use std::path::Path;
use std::process::Command;

use pagemill_testkit::skip;

/// Prints lines and a prompt, while a bar would be drawn anew.
const PROGRAM: &str = "#!/bin/sh\necho round 0\nsleep 0.3\necho round 1 >&2\nprintf 'How many? '\nsleep 0.3\necho done\n";

/// What the command writes to a terminal in `folder`, escape sequences included; nothing where no terminal can be made.
fn on_terminal(folder: &Path, arguments: &str) -> Option<String> {
    let command = format!("{} {arguments}", env!("CARGO_BIN_EXE_pagemill"));
    let output = Command::new("script")
        .args(["-qefc", &command, "/dev/null"])
        .current_dir(folder)
        .env("TERM", "xterm")
        .output();
    match output {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(_) => {
            skip("there is no script(1) to make a terminal");
            None
        }
    }
}

/// Whether a sequence moves the cursor off its line or erases.
fn moves_the_cursor(written: &str) -> bool {
    written.split("\u{1b}[").skip(1).any(|sequence| {
        let last = sequence.find(|c: char| c.is_ascii_alphabetic());
        last.is_some_and(|at| "ABCDEFGHJKST".contains(&sequence[at..=at]))
    })
}

#[test]
fn what_a_program_prints_stays_on_the_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("program");
    fs::write(&program, PROGRAM).expect("written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, executable).expect("executable");
    fs::write(
        folder.path().join("own.toml"),
        "title = \"own\"\nkind = \"cuda\"\nmachine = \"gtx480\"\n[program]\ncommand = [\"./program\"]\n[transfer]\n",
    )
    .expect("written");
    for arguments in [
        "cuda -- ./program",
        "cuda --machine h100 --functional -- ./program",
        "cuda --check -- ./program",
        "cuda --format json -- ./program",
        "cuda --set 'transfer.mode=[\"programmer-copy\", \"whole-page\"]' --machine gtx480 -- ./program",
        "run own.toml",
    ] {
        let Some(written) = on_terminal(folder.path(), arguments) else {
            return;
        };
        for line in ["round 0\r\n", "round 1\r\n", "How many? done\r\n"] {
            assert!(
                written.contains(line),
                "{arguments}: {line:?} is not in {written:?}"
            );
        }
        assert!(!moves_the_cursor(&written), "{arguments}: {written:?}");
        assert!(
            written.contains("./program runs on a simulated"),
            "{arguments}: {written:?}"
        );
    }
}

#[test]
fn a_bar_says_how_long_the_rest_takes_once_a_point_has_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(written) = on_terminal(folder.path(), "run smoke") else {
        return;
    };
    assert!(moves_the_cursor(&written), "no bar in {written:?}");
    let first = written
        .split("0/")
        .nth(1)
        .expect("the bar before the first point ended");
    let first = first.split('\u{1b}').next().expect("a line");
    assert!(
        first.contains("elapsed") && !first.contains("left"),
        "{first:?}"
    );
}
