//! `pagemill color` as a user runs it, with a file that stands in for the module.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Long enough for anything but a hang.
const PATIENCE: Duration = Duration::from_secs(60);

fn pagemill(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pagemill"));
    command.arg("color").args(arguments);
    command
}

/// Where cargo puts the library: beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    test.with_file_name("libpagemill_color_preload.so")
}

fn run(socket: &Path, need: &[&str], program: &[&str]) -> Command {
    let mut command = pagemill(&["run", "--stand-in", "64"]);
    command
        .arg("--socket")
        .arg(socket)
        .arg("--library")
        .arg(library())
        .args(need)
        .arg("--")
        .args(program);
    command
}

/// A coordinator, which is killed without warning.
struct Serving(Child);

impl Serving {
    fn start(socket: &Path) -> Self {
        let mut command = pagemill(&[
            "serve", "--colors", "64", "--grace", "5000", "--settle", "0",
        ]);
        command.arg("--socket").arg(socket).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let stderr = child.stderr.take().expect("piped");
        let mut line = String::new();
        BufReader::new(stderr).read_line(&mut line).expect("a line");
        assert!(line.contains("dividing 64 colors"), "{line}");
        Self(child)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("it ends");
    }
}

/// A program that ends with the test at the latest.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("it ends");
    }
}

fn status(socket: &Path) -> Value {
    let mut command = pagemill(&["status", "--format", "json"]);
    let output = command
        .arg("--socket")
        .arg(socket)
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Waits until these tasks, and no others, have what they were given.
fn until_tasks(socket: &Path, names: &[&str]) -> Value {
    until_tasks_have(socket, names, None)
}

/// The same, and the first has `count` colors.
fn until_tasks_have(socket: &Path, names: &[&str], count: Option<u64>) -> Value {
    let begun = Instant::now();
    loop {
        let status = status(socket);
        let tasks = status["tasks"].as_array().expect("a list");
        let is_settled = |task: &Value| task["given"].is_object() && task["given"] == task["has"];
        let mut found: Vec<_> = tasks
            .iter()
            .filter_map(|task| task["name"].as_str())
            .collect();
        found.sort_unstable();
        let first = tasks
            .first()
            .and_then(|task| task["given"]["count"].as_u64());
        let has_count = count.is_none() || count == first;
        if found == names && has_count && tasks.iter().all(is_settled) {
            return status;
        }
        assert!(begun.elapsed() < PATIENCE, "never {names:?}: {status}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_program_has_its_memory_and_its_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("none");
    let shell =
        "x=$(seq 100000); grep -c stand-in /proc/$$/maps; grep -c stand-in /proc/self/maps; exit 7";
    let output: Output = run(&socket, &["--colors", "5"], &["bash", "-c", shell])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let counts: Vec<u32> = text(&output.stdout)
        .lines()
        .map(|line| line.parse().expect("a count"))
        .collect();
    assert!(
        counts.len() == 2 && counts.iter().all(|count| *count > 0),
        "{counts:?}"
    );
    let told = text(&output.stderr);
    assert_eq!(told, "pagemill color: colors 0-4, as no coordinator runs\n");
}

#[test]
fn without_the_module_commands_say_what_is_missing() {
    if Path::new("/dev/pagemill_color").exists() {
        return pagemill_testkit::skip("the module pagemill_color is loaded");
    }
    let library = library();
    let library = library.to_str().expect("UTF-8");
    for arguments in [
        &["run", "--library", library, "--", "true"][..],
        &["serve"][..],
    ] {
        let output = pagemill(arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let told = text(&output.stderr);
        assert!(
            told.contains("/dev/pagemill_color") && told.contains("load the module"),
            "{told}"
        );
    }
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("none");
    for (need, code) in [
        (&["--colors", "0"][..], 2),
        (&["--class", "E"][..], 2),
        (&["--colors", "3", "--class", "A"][..], 2),
        (&["--curve", "nowhere.json"][..], 2),
        (&["--colors", "65"][..], 1),
    ] {
        let output = run(&socket, need, &["echo", "ran"])
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(code), "{need:?}: {output:?}");
        assert_eq!(text(&output.stdout), "", "{need:?}");
    }
}

#[test]
fn kill_9_of_coordinator_task_and_companion() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("color.sock");
    let mut serving = Serving::start(&socket);
    let start = |need: &[&str], name: &str| {
        let program = folder.path().join(name);
        if !program.exists() {
            std::os::unix::fs::symlink("/bin/sleep", &program).expect("a link");
        }
        let program = program.to_str().expect("UTF-8").to_owned();
        let mut command = run(&socket, need, &[&program, "1000"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Program(command.spawn().expect("it runs"))
    };
    let mut first = start(&["--class", "A"], "first");
    let second = start(&["--class", "C"], "second");
    let before = until_tasks(&socket, &["first", "second"]);
    for _ in 0..3 {
        drop(serving);
        assert!(first.0.try_wait().expect("asked").is_none(), "it runs on");
        serving = Serving::start(&socket);
        let after = until_tasks(&socket, &["first", "second"]);
        let given = |status: &Value| {
            let tasks = status["tasks"].as_array().expect("a list").clone();
            tasks
                .into_iter()
                .map(|task| task["given"].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(given(&after), given(&before));
    }
    drop(second);
    until_tasks_have(&socket, &["first"], Some(64));
    let companion = companion_of(first.0.id());
    let killed = Command::new("kill")
        .args(["-9", &companion.to_string()])
        .status();
    assert!(killed.expect("kill runs").success());
    until_tasks(&socket, &[]);
    assert!(
        first.0.try_wait().expect("asked").is_none(),
        "the program runs on"
    );
}

/// The process that holds the task of `process`.
fn companion_of(process: u32) -> u32 {
    let wanted = format!("--process\0{process}\0");
    let processes = std::fs::read_dir("/proc").expect("processes");
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut holders = numbers.filter(|number: &u32| {
        let line = std::fs::read_to_string(format!("/proc/{number}/cmdline")).unwrap_or_default();
        line.contains(&wanted) && line.contains("--detached")
    });
    holders.next().expect("the task has a companion")
}
