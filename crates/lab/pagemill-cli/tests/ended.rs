//! Commands that are ended from outside: their programs end with them, and nothing is left after the next start.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{names, pagemill};
use pagemill_testkit::skip;

/// A program that says its process number and then does nothing.
const WAITS: &str = "echo process $$; exec sleep 1000";

/// A command that runs in a temporary folder of its own, and what its programs say.
struct Running {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Running {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = pagemill(folder)
            .args(arguments)
            .env("TMPDIR", folder)
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, lines }
    }

    /// The process number at the end of the next line, which has to begin with `name`.
    fn process(&mut self, name: &str) -> u32 {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("text");
        let number = line
            .strip_prefix(name)
            .and_then(|rest| rest.trim().parse().ok());
        number.unwrap_or_else(|| panic!("no `{name} NUMBER`: {line:?}"))
    }

    fn send(&self, signal: &str) {
        send(signal, self.child.id());
    }

    /// Its exit code, and what it said on standard error.
    fn end(mut self) -> (Option<i32>, String) {
        let mut stderr = String::new();
        let mut pipe = self.child.stderr.take().expect("piped");
        std::io::Read::read_to_string(&mut pipe, &mut stderr).expect("text");
        (self.child.wait().expect("it ends").code(), stderr)
    }
}

fn send(signal: &str, process: u32) {
    let sent = Command::new("kill")
        .args([&format!("-{signal}"), &process.to_string()])
        .status();
    assert!(sent.expect("kill starts").success());
}

/// Fails if the process does not end.
fn expect_end(process: u32) {
    for _ in 0..1200 {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
        if stat.is_ok_and(|stat| !stat.contains(") Z ")) {
            std::thread::sleep(Duration::from_millis(50));
        } else {
            return;
        }
    }
    panic!("process {process} still runs");
}

/// Folders of ours in a temporary folder.
fn left(folder: &Path) -> Vec<String> {
    let mut names = names(folder);
    names.retain(|name| name.starts_with("pagemill-"));
    names
}

/// Ends the command by a signal while its program waits; what is left then, and after the next start.
fn left_by(kind: &str, signal: &str) -> [Vec<String>; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let mut running = Running::start(folder.path(), &[kind, "--", "sh", "-c", WAITS]);
    let program = running.process("process");
    assert_eq!(left(folder.path()).len(), 1);
    running.send(signal);
    expect_end(program);
    let (code, stderr) = running.end();
    assert_ne!(code, Some(0), "{stderr}");
    let after = left(folder.path());
    Running::start(folder.path(), &[kind, "--", "true"]).end();
    [after, left(folder.path())]
}

#[test]
fn cuda_ends_its_program_and_leaves_nothing_behind() {
    for signal in ["TERM", "INT", "HUP"] {
        assert_eq!(
            left_by("cuda", signal),
            [vec![], vec![]] as [Vec<String>; 2],
            "{signal}"
        );
    }
    let [after_kill, after_next] = left_by("cuda", "KILL");
    assert_eq!(after_kill.len(), 1, "no process can remove it at once");
    assert_eq!(after_next, [""; 0]);
}

#[test]
fn mpi_ends_its_launcher_and_leaves_nothing_behind() {
    for signal in ["TERM", "INT"] {
        assert_eq!(
            left_by("mpi", signal),
            [vec![], vec![]] as [Vec<String>; 2],
            "{signal}"
        );
    }
    let [after_kill, after_next] = left_by("mpi", "KILL");
    assert_eq!(after_kill.len(), 1, "no process can remove it at once");
    assert_eq!(after_next, [""; 0]);
}

/// Compiles a C program; `None`, and a counted skip, where `compiler` is missing.
fn compile(compiler: &str, folder: &Path, text: &str, libraries: &[&str]) -> Option<PathBuf> {
    let source = folder.join("program.c");
    std::fs::write(&source, text).expect("written");
    let program = folder.join("program");
    let mut command = Command::new(compiler);
    let compiled = command
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .args(libraries)
        .status();
    match compiled {
        Err(_) => {
            skip(&format!("there is no {compiler}"));
            None
        }
        Ok(status) => {
            assert!(status.success());
            Some(program)
        }
    }
}

const USES_CUDA: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    void *library = dlopen("libcudart.so.12", RTLD_NOW);
    int (*synchronize)(void) = library ? (int (*)(void))dlsym(library, "cudaDeviceSynchronize") : 0;
    if (!synchronize || synchronize())
        return 1;
    printf("process %d\n", getpid());
    fflush(stdout);
    for (;;)
        pause();
}
"#;

#[test]
fn a_cuda_program_that_a_script_started_ends_with_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = compile("cc", folder.path(), USES_CUDA, &["-ldl"]) else {
        return;
    };
    let script = format!("{}; true", program.display());
    let mut running = Running::start(folder.path(), &["cuda", "--", "sh", "-c", &script]);
    let process = running.process("process");
    running.send("KILL");
    expect_end(process);
}

const RANKS: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int turn = 0; turn < 2; turn++) {
        if (rank == turn) {
            printf("rank %d process %d\n", rank, getpid());
            fflush(stdout);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (;;)
        MPI_Barrier(MPI_COMM_WORLD);
}
"#;

fn ranks(folder: &Path) -> Option<(Running, [u32; 2])> {
    let program = compile("mpicc", folder, RANKS, &[])?;
    let program = program.display().to_string();
    let arguments = [
        "mpi",
        "--patience",
        "1",
        "--",
        "mpirun",
        "-n",
        "2",
        &program,
    ];
    let mut running = Running::start(folder, &arguments);
    let mut of_rank = [0; 2];
    for _ in 0..2 {
        let mut line = String::new();
        running.lines.read_line(&mut line).expect("text");
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words.len(), 4, "{line:?}");
        of_rank[words[1].parse::<usize>().expect("a rank")] = words[3].parse().expect("a number");
    }
    Some((running, of_rank))
}

#[test]
fn a_stopped_rank_ends_the_job_when_patience_is_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some((running, processes)) = ranks(folder.path()) else {
        return;
    };
    send("STOP", processes[1]);
    let (code, stderr) = running.end();
    assert_eq!(code, Some(1), "{stderr}");
    let said = format!("rank 1 (process {}) was stopped for 1 s", processes[1]);
    assert!(stderr.contains(&said), "{stderr}");
    processes.into_iter().for_each(expect_end);
    assert_eq!(left(folder.path()), [""; 0]);
}

#[test]
fn ranks_end_with_a_killed_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some((running, processes)) = ranks(folder.path()) else {
        return;
    };
    running.send("KILL");
    processes.into_iter().for_each(expect_end);
}
