//! Programs of known memory, and what they must find in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use pagemill_pager::{SETUP_VARIABLE, Setup};
use pagemill_testkit::{memory_programs, skip};

use crate::{has_userfault, library, run};

fn build(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/preload/promises.c");
    memory_programs::build(folder, source, &["-Wextra"])
}

#[test]
fn programs_keep_every_promise_at_a_fraction_of_their_memory() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = build(folder.path());
    let text = folder.path().to_str().expect("text");
    for to in ["compressed", text, &format!("compressed:100000,{text}")] {
        let output = run(Command::new(&program), &Setup::new(2 << 20, to));
        assert_eq!(output.status.code(), Some(0), "{to}: {output:?}");
    }
}

/// Its aligned memory is jemalloc's, so all of it has to be, and to be asked for its size.
#[test]
fn a_program_linked_with_jemalloc_keeps_it() {
    const SOURCE: &str = r#"
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    for (size_t bytes = 1; bytes < 1 << 20; bytes *= 3) {
        char *plain = malloc(bytes), *aligned = aligned_alloc(64, (bytes + 63) / 64 * 64);
        if (malloc_usable_size(plain) < bytes || malloc_usable_size(aligned) < bytes) return 1;
        memset(plain, 1, bytes);
        memset(aligned, 2, bytes);
        plain = realloc(plain, 2 * bytes);
        if (plain[bytes - 1] != 1 || aligned[bytes - 1] != 2) return 2;
        free(aligned);
        free(plain);
    }
    return 0;
}
"#;
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("program.c");
    let program = folder.path().join("program");
    std::fs::write(&source, SOURCE).expect("written");
    let built = Command::new("cc")
        .args(["-O1", "-fno-builtin", "-o"])
        .args([&program, &source])
        .arg("-ljemalloc")
        .output();
    if !built.is_ok_and(|built| built.status.success()) {
        return skip("there is no jemalloc to link with");
    }
    let output = run(Command::new(&program), &Setup::new(2 << 20, "compressed"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// The allocator's own records are in paged memory, so a handler of the child that allocated through it would wait for itself.
#[test]
fn a_forked_child_of_a_program_linked_with_jemalloc_goes_on() {
    const SOURCE: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 4096, BYTES = 3000 };
static char *blocks[BLOCKS];

static void *holds(void *expected) {
    for (int i = 0; i < BLOCKS; i++)
        for (int at = 0; at < BYTES; at += 100)
            if (blocks[i][at] != (char)(i + *(int *)expected)) return blocks[i];
    return NULL;
}

static void write_all(int by) {
    for (int i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
        blocks[i] = malloc(BYTES);
        memset(blocks[i], i + by, BYTES);
    }
}

int main(void) {
    alarm(60);
    for (int round = 0; round < 4; round++) {
        write_all(round);
        pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            void *wrong;
            alarm(60);
            if (holds(&round)) _exit(1);
            write_all(round + 50);
            int by = round + 50;
            pthread_create(&thread, NULL, holds, &by);
            pthread_join(thread, &wrong);
            _exit(wrong != NULL);
        }
        int status;
        write_all(round + 9);
        waitpid(child, &status, 0);
        if (status != 0) return 1;
    }
    return 0;
}
"#;
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("program.c");
    let program = folder.path().join("program");
    std::fs::write(&source, SOURCE).expect("written");
    let built = Command::new("cc")
        .args(["-O1", "-fno-builtin", "-pthread", "-o"])
        .args([&program, &source])
        .arg("-ljemalloc")
        .output();
    if !built.is_ok_and(|built| built.status.success()) {
        return skip("there is no jemalloc to link with");
    }
    let mut setup = Setup::new(2 << 20, "compressed");
    setup.least_bytes = 4096;
    let output = run(Command::new(&program), &setup);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// Runs a program with and without the pager, which may change nothing but its memory.
fn is_as_ever(command: impl Fn() -> Command, setup: &Setup) {
    if !has_userfault() {
        return;
    }
    let Ok(expected) = command().output() else {
        return skip(&format!("there is no {:?}", command().get_program()));
    };
    assert!(expected.status.success(), "{expected:?}");
    let output = run(command(), setup);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, expected.stdout);
}

#[test]
fn sqlite_sorts_as_it_does_with_enough_memory() {
    const SCRIPT: &str = "pragma cache_size=-200000; create table t(a integer primary key, b text);
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
        insert into t select i, hex(i * 7919 % 100003) || printf('%0100d', i) from n;
        create index x on t(b); select sum(length(b)), min(b), max(b) from t;
        select group_concat(a) from (select a from t order by b limit 50);";
    let mut setup = Setup::new(2 << 20, "compressed");
    setup.least_bytes = 4096;
    let command = || {
        let mut command = Command::new("sqlite3");
        command.args([":memory:", SCRIPT]);
        command
    };
    is_as_ever(command, &setup);
}

#[test]
fn python_groups_words_as_it_does_with_enough_memory() {
    const SCRIPT: &str = "import hashlib\nd = {}\nfor i in range(60000):\n    k = str(i * 7919 % 20021)\n    d[k] = d.get(k, ()) + (i,)\n\
        h = hashlib.sha256()\nfor k in sorted(d):\n    h.update(repr((k, d[k])).encode())\nprint(len(d), h.hexdigest())\n";
    let command = || {
        let mut command = Command::new("python3");
        command.args(["-S", "-c", SCRIPT]);
        command
    };
    is_as_ever(command, &Setup::new(4 << 20, "compressed"));
}

#[test]
fn a_setup_that_cannot_work_ends_the_program_before_it_starts() {
    let mut setup = Setup::new(8 << 20, "/none/such");
    let output = run(Command::new("/bin/echo"), &setup);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(output.stdout.is_empty());
    assert!(text.starts_with("pagemill pager: cannot "), "{text}");
    setup.to = "compressed".to_owned();
    setup.page_bytes = 4096;
    let output = run(Command::new("/bin/echo"), &setup);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("pages of 4 KiB cannot be paged"), "{text}");
}

#[test]
fn without_a_setup_a_program_runs_as_ever() {
    let output = Command::new("/bin/ls")
        .env("LD_PRELOAD", library())
        .env_remove(SETUP_VARIABLE)
        .output();
    assert!(output.expect("it runs").status.success());
}

/// A run of `process.c` in this form, with a limit of time.
fn process(folder: &Path, form: &str) -> Command {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/preload/process.c");
    let program = memory_programs::build(folder, source, &["-Wextra"]);
    let mut command = Command::new("timeout");
    command.args(["-k1", "60"]).arg(program).arg(form);
    command
}

/// Descriptors, children and threads are the program's: each form prints the same without the library.
#[test]
fn descriptors_children_and_threads_are_the_programs() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let forms = "daemon close close_range closefrom instruction dup2 reserve placed few_descriptors child_locks asks_for_filters user filter filter_all namespace clone clone_paged last_thread";
    for form in forms.split(' ') {
        let plain = process(folder.path(), form).output().expect("it runs");
        for to in ["compressed", folder.path().to_str().expect("text")] {
            let paged = run(process(folder.path(), form), &Setup::new(2 << 20, to));
            assert_eq!(paged.status, plain.status, "{form}, {to}: {paged:?}");
            assert_eq!(paged.stdout, plain.stdout, "{form}, {to}: {paged:?}");
        }
    }
}

#[test]
fn memory_at_a_place_of_the_programs_choice_is_paged() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(2 << 20, folder.path().to_str().expect("text"));
    let paged = run(process(folder.path(), "placed"), &setup);
    let said = String::from_utf8_lossy(&paged.stderr);
    let more = said
        .split("placed: ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let kib: i64 = more.and_then(|kib| kib.parse().ok()).expect("a number");
    assert!(kib < 8 << 10, "of 16 MiB: {said}");
}
