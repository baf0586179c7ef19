//! Unchanged programs under the library, with plain memory and with a file that stands in for a space of the module.

mod meaning;

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use pagemill_linux::channel::Listener;
use pagemill_testkit::memory_programs::build;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Where cargo puts the library: beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    let library = test.with_file_name("libpagemill_color_preload.so");
    assert!(library.is_file(), "no {}", library.display());
    library
}

/// Builds one of this crate's programs.
fn build_own(folder: &Path, source: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    build(folder, programs.join(source), &[])
}

/// What a program's memory is made of.
enum Memory {
    Plain,
    /// A file that stands in for a space, handed out at this socket.
    Space(PathBuf),
}

/// Hands a large, empty file to each client, until the test program ends.
fn stand_in(folder: &Path) -> Memory {
    const BYTES: u64 = 1 << 40;
    // SAFETY: the name ends with a zero byte; a new descriptor is ours.
    let file = unsafe {
        let file = libc::memfd_create(c"stand-in".as_ptr(), libc::MFD_CLOEXEC);
        assert!(file >= 0, "a file in memory");
        OwnedFd::from_raw_fd(file)
    };
    let file = File::from(file);
    file.set_len(BYTES).expect("a length");
    let socket = folder.join("space");
    let listener = Listener::bind(&socket, 0o600).expect("a socket");
    std::thread::spawn(move || {
        while let Ok(channel) = listener.accept() {
            // Who has gone away gets nothing.
            let _ = channel.send(&[1], &[file.as_fd()]);
        }
    });
    Memory::Space(socket)
}

fn under_library(program: &Path, memory: &Memory) -> Command {
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", library());
    match memory {
        Memory::Plain => command.env("PAGEMILL_COLOR_TASK", "nowhere"),
        Memory::Space(socket) => command.env("PAGEMILL_COLOR_TASK", socket),
    };
    command
}

fn succeed(mut command: Command, input: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(
        output.status.success(),
        "{}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn warnings(output: &Output) -> usize {
    let text = String::from_utf8_lossy(&output.stderr);
    text.matches("no colored memory").count()
}

const FUNCTIONS: [&str; 11] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "valloc",
    "pvalloc",
    "free",
    "refuse",
];

fn call() -> impl Strategy<Value = String> {
    let bytes = prop_oneof![
        4 => 0_usize..200,
        4 => 0_usize..5000,
        2 => 0_usize..200_000,
        1 => 0_usize..3_000_000,
    ];
    let alignment = prop_oneof![8 => 3_u32..13, 1 => 13_u32..24];
    (
        0..64_u32,
        prop::sample::select(&FUNCTIONS[..]),
        bytes,
        alignment,
    )
        .prop_map(|(slot, function, bytes, alignment)| {
            format!("{slot} {function} {bytes} {}\n", 1_u64 << alignment)
        })
}

#[test]
fn every_call_keeps_glibcs_promises() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = build_own(folder.path(), "model.c");
    let space = stand_in(folder.path());
    let mut runner = TestRunner::new(Config {
        cases: 20,
        failure_persistence: None,
        ..Config::default()
    });
    let calls = prop::collection::vec(call(), 1..120);
    let tried = runner.run(&calls, |calls| {
        let calls = calls.concat();
        for memory in [&Memory::Plain, &space] {
            succeed(under_library(&program, memory), &calls);
        }
        Ok(())
    });
    tried.expect("every block is as promised");
}

/// The model itself, under the C library that it describes.
#[test]
fn the_model_describes_glibc() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = build_own(folder.path(), "model.c");
    let mut runner = TestRunner::new(Config {
        cases: 10,
        failure_persistence: None,
        ..Config::default()
    });
    let tried = runner.run(&prop::collection::vec(call(), 1..120), |calls| {
        succeed(Command::new(&program), &calls.concat());
        Ok(())
    });
    tried.expect("glibc keeps its promises");
}

#[test]
fn threads_fork_and_start_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = build_own(folder.path(), "crowd.c");
    for memory in [Memory::Plain, stand_in(folder.path())] {
        succeed(under_library(&program, &memory), "");
    }
}

#[test]
fn operators_of_cpp_come_from_the_library() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = build_own(folder.path(), "operators.cpp");
    for memory in [Memory::Plain, stand_in(folder.path())] {
        succeed(under_library(&program, &memory), "");
    }
}

#[test]
fn memory_is_of_the_space_also_after_descriptors_were_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let space = stand_in(folder.path());
    // A shell that closes what it does not know, and whose last child looks at its own mappings.
    let mut command = under_library(Path::new("/bin/bash"), &space);
    command.args([
        "-c",
        "for fd in $(ls /proc/self/fd); do [ $fd -gt 2 ] && eval \"exec $fd>&-\"; done; x=$(seq 200000); grep stand-in /proc/$$/maps; exec cat /proc/self/maps",
    ]);
    let output = succeed(command, "");
    let maps = String::from_utf8_lossy(&output.stdout);
    assert!(maps.matches("stand-in").count() >= 2, "{maps}");
    assert_eq!(warnings(&output), 0);
}

#[test]
fn without_a_space_there_is_one_warning_for_a_program_and_all_that_it_starts() {
    let mut command = under_library(Path::new("/bin/bash"), &Memory::Plain);
    command.args(["-c", "ls / ; (ls /) ; exec bash -c 'ls /; ls /'"]);
    assert_eq!(warnings(&succeed(command, "")), 1);
}

#[test]
fn a_socket_without_a_space_is_no_space() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("silent");
    let listener = Listener::bind(&socket, 0o600).expect("a socket");
    std::thread::spawn(move || {
        while let Ok(channel) = listener.accept() {
            let _ = channel.send(b"nothing", &[]);
        }
    });
    let output = succeed(
        under_library(Path::new("/bin/ls"), &Memory::Space(socket)),
        "",
    );
    assert_eq!(warnings(&output), 1);
}
