//! A database, a Java machine and an emulator take their large memory from the pool.

use std::io::Write;
use std::process::{Command, Stdio};

use pagemill_testkit::memory_programs::build;
use pagemill_testkit::real_programs::{RealProgram, missing, run};
use pagemill_testkit::skip;

use crate::pool::TestPool;

/// Shared memory that children write, private memory at a place of the program's choice, and what children are not to have.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 8 << 20, HUGE = 2 << 20 };

static int status_of(pid_t child) {
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int is_all(const unsigned char *memory, size_t bytes, unsigned char value) {
    for (size_t i = 0; i < bytes; i++) if (memory[i] != value) return 0;
    return 1;
}

static int shared(void) {
    unsigned char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (memory == MAP_FAILED || !is_all(memory, SIZE, 0)) return 1;
    pid_t child = fork();
    if (!child) { memset(memory, 3, SIZE); _exit(mprotect(memory, HUGE, PROT_READ) != 0); }
    if (status_of(child) || !is_all(memory, SIZE, 3)) return 2;
    if (mprotect(memory, SIZE, PROT_READ) || mprotect(memory, SIZE, PROT_READ | PROT_WRITE)) return 3;
    if (munmap(memory, HUGE) || !is_all(memory + HUGE, SIZE - HUGE, 3)) return 4;
    child = fork();
    if (!child) { memory[SIZE - 1] = 4; _exit(munmap(memory + HUGE, SIZE - HUGE) != 0); }
    if (status_of(child) || memory[SIZE - 1] != 4) return 5;
    return munmap(memory + HUGE, SIZE - HUGE) ? 6 : 0;
}

static int placed(void) {
    unsigned char *room = mmap(NULL, 3 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    unsigned char *place = room + HUGE - (size_t)room % HUGE;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_HUGETLB;
    for (int round = 1; round < 4; round++) {
        if (mmap(place, SIZE, PROT_READ | PROT_WRITE, flags, -1, 0) != place || !is_all(place, SIZE, 0)) return 11;
        memset(place, round, SIZE);
        if (madvise(place, SIZE, MADV_DONTFORK)) return 12;
        pid_t child = fork();
        if (!child) _exit(!msync(place, SIZE, MS_ASYNC) || errno != ENOMEM);
        if (status_of(child) || !is_all(place, SIZE, round)) return 13;
    }
    if (madvise(place, SIZE, MADV_DOFORK)) return 14;
    pid_t child = fork();
    if (!child) { int wrong = !is_all(place, SIZE, 3); place[5] = 9; _exit(wrong); }
    if (status_of(child) || place[5] != 3) return 15;
    return munmap(room, 3 * SIZE) ? 16 : 0;
}

int main(void) {
    int wrong = shared();
    return wrong ? wrong : placed();
}
"#;

#[test]
fn shared_memory_and_memory_at_a_place_mean_what_they_mean() {
    // The kernel's stock has no page for the program: it runs on the pool's.
    let Some(mut pool) = TestPool::start(16) else {
        return skip("there are no huge pages");
    };
    let source = pool.folder().join("program.c");
    std::fs::write(&source, PROGRAM).expect("written");
    let program = build(pool.folder(), source, &[]);
    let output = pool.command(&program).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(pool.status().counters.leases >= 4, "{:?}", pool.status());
    pool.wait_until_clean();
}

/// Its shared buffers are huge pages, which the kernel has none of.
const POSTGRESQL: RealProgram = RealProgram {
    name: "PostgreSQL",
    needs: &["/usr/lib/postgresql/15/bin/initdb"],
    script: r#"
export PATH=/usr/lib/postgresql/15/bin:$PATH LC_ALL=C HOME=$PWD
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; else "$@"; fi; }
[ "$(id -u)" != 0 ] || chown postgres: .
pool=$LD_PRELOAD; unset LD_PRELOAD
as initdb -D data -U postgres --no-sync > log 2>&1 || cat log
options="-c listen_addresses='' -k $PWD -c fsync=off -c huge_pages=on -c shared_buffers=40MB"
as env LD_PRELOAD=$pool pg_ctl -D data -w -t 60 -o "$options" -l server.log start > /dev/null || cat server.log
as pgbench -h "$PWD" -U postgres -i -q -s 1 postgres > log 2>&1 || cat log
as pgbench -h "$PWD" -U postgres -c 2 -t 200 postgres 2>&1 | grep -E "processed|failed"
as psql -h "$PWD" -U postgres -Atc "select count(*) from pgbench_history" postgres
as pg_ctl -D data -m fast -w stop > /dev/null && echo stopped
"#,
};

#[test]
fn postgresql_has_its_shared_buffers_from_the_pool() {
    if let Some(file) = missing(&POSTGRESQL) {
        return skip(&format!("there is no {file}"));
    }
    // A user may have half of them.
    let Some(mut pool) = TestPool::start(80) else {
        return skip("there are no huge pages");
    };
    let printed = run(&POSTGRESQL, &pool.environment()).expect("it runs");
    assert!(printed.contains("processed: 400/400"), "{printed}");
    assert!(printed.ends_with("400\nstopped\n"), "{printed}");
    let programs = pool.status().programs;
    let lent: u64 = programs.iter().map(|program| program.lent_pages).sum();
    assert!(lent >= 20, "40 MB of buffers: {programs:?}");
    pool.wait_until_clean();
}

/// Runs a program that is to take `pages` of its memory from the pool; what it printed.
fn takes(program: &str, arguments: &[&str], input: &[u8], pages: u64) -> Option<String> {
    let Some(mut pool) = TestPool::start(80) else {
        skip("there are no huge pages");
        return None;
    };
    let child = Command::new(program)
        .args(arguments)
        .envs(pool.environment())
        .env("PAGEMILL_ZERO_MMAP", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        skip(&format!("there is no {program}"));
        return None;
    };
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    let programs = pool.status().programs;
    let lent: u64 = programs.iter().map(|program| program.lent_pages).sum();
    assert!(lent >= pages, "{programs:?} {output:?}");
    pool.wait_until_clean();
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn java_has_its_heap_from_the_pool() {
    for collector in ["-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC"] {
        let heap = "-XX:+UseLargePages -XX:+AlwaysPreTouch -Xms64m -Xmx64m -version";
        let arguments: Vec<&str> = [collector].into_iter().chain(heap.split(' ')).collect();
        takes("java", &arguments, b"", 32);
    }
}

#[test]
fn qemu_has_its_guests_memory_from_the_pool() {
    let machine = "-accel tcg -nodefaults -display none -S -m 64M -monitor stdio";
    let arguments: Vec<&str> = machine.split(' ').collect();
    let input = b"xp /1wx 0x100000\nquit\n";
    if let Some(said) = takes("qemu-system-x86_64", &arguments, input, 32) {
        assert!(said.contains("0x00000000"), "{said}");
    }
}
