//! Memory that was just freed is there, clean, for the next allocation.

use std::path::Path;
use std::process::{Command, Output};

use pagemill_testkit::memory_programs::build;
use pagemill_testkit::skip;
use pagemill_zero_client::protocol::ProgramUse;

use crate::pool::{TestPool, library};

/// More than half of the pool: the next array needs pages of the last one.
const PAGES: usize = 24;
const ARRAY_BYTES: usize = 40 << 20;
const ROUNDS: u64 = 12;

/// The only program that asked the pool, after it ran.
fn used(pool: &mut TestPool, output: &Output) -> ProgramUse {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(errors, "");
    pool.wait_until_clean();
    let mut programs = pool.status().programs;
    programs.retain(|used| used.lent_pages + used.refused_pages > 0);
    assert_eq!(programs.len(), 1, "{programs:?}");
    programs.remove(0)
}

fn came_from_the_pool(used: &ProgramUse) {
    assert_eq!(used.refused.total(), 0, "{used:?}");
    assert_eq!(used.lent_pages, ROUNDS * (ARRAY_BYTES >> 21) as u64);
}

#[test]
fn a_block_right_after_the_last_one_was_freed() {
    let Some(mut pool) = TestPool::start(PAGES) else {
        return skip("there are no huge pages");
    };
    let source = pool.folder().join("again.c");
    let program = format!(
        "#include <stdlib.h>\n#include <string.h>\n\
         int main(void) {{\n\
         for (int round = 0; round < {ROUNDS}; round++) {{\n\
           char *volatile block = calloc(1, {ARRAY_BYTES});\n\
           if (!block) return 1;\n\
           for (size_t i = 0; i < {ARRAY_BYTES}; i += 4096) if (block[i]) return 2;\n\
           memset(block, 7, {ARRAY_BYTES});\n\
           free(block);\n\
         }}\n\
         return 0; }}\n"
    );
    std::fs::write(&source, program).expect("written");
    let program = build(pool.folder(), &source, &[]);
    let output = pool.command(&program).output().expect("it runs");
    came_from_the_pool(&used(&mut pool, &output));
}

#[test]
fn a_numpy_array_right_after_the_last_one_was_deleted() {
    let python = Path::new("/usr/bin/python3");
    let numpy = Command::new(python).args(["-c", "import numpy"]).output();
    if !numpy.is_ok_and(|output| output.status.success()) {
        return skip("there is no python3-numpy");
    }
    let Some(mut pool) = TestPool::start(PAGES) else {
        return skip("there are no huge pages");
    };
    let program = format!(
        "import numpy\n\
         for _ in range({ROUNDS}):\n    \
             array = numpy.zeros({ARRAY_BYTES}, numpy.uint8)\n    \
             assert not array.any()\n    \
             array[:] = 7\n    \
             del array\n"
    );
    let mut command = pool.command(python);
    let output = command.args(["-c", &program]).output().expect("it runs");
    came_from_the_pool(&used(&mut pool, &output));
}

const TOO_LARGE: &str = "
#include <stdlib.h>
int main(void) {
    for (int i = 0; i < 3; i++) {
        char *volatile block = malloc((size_t)1 << 30);
        if (!block) return 1;
        block[1 << 20] = 1;
    }
    return 0;
}
";

#[test]
fn memory_of_the_kernel_is_said_once_and_counted_each_time() {
    let Some(mut pool) = TestPool::start(4) else {
        return skip("there are no huge pages");
    };
    let source = pool.folder().join("large.c");
    std::fs::write(&source, TOO_LARGE).expect("written");
    let program = build(pool.folder(), &source, &[]);
    let output = pool.command(&program).output().expect("it runs");
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(said.lines().count(), 1, "{said}");
    for part in ["1024 MiB", "from the kernel", "`pagemill zero status`"] {
        assert!(said.contains(part), "{said}");
    }
    let programs = pool.status().programs;
    let used = programs.iter().find(|used| used.command == "large");
    let used = used.expect("it is remembered");
    assert_eq!((used.refused.too_large, used.refused_pages), (3, 3 * 512));

    let quiet = pool
        .command(&program)
        .env("PAGEMILL_ZERO_QUIET", "1")
        .output();
    assert_eq!(quiet.expect("it runs").stderr, b"");
    // With standard error closed, its number may be a file of the program's own.
    let script = format!("exec {} 2>&-", program.display());
    let mut shell = pool.command(Path::new("/bin/sh"));
    let closed = shell.args(["-c", &script]).output().expect("it runs");
    assert!(closed.status.success());
}

#[test]
fn a_pool_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("none");
    let source = folder.path().join("large.c");
    std::fs::write(&source, TOO_LARGE).expect("written");
    let program = build(folder.path(), &source, &[]);
    let output = Command::new(program)
        .env("LD_PRELOAD", library())
        .env("PAGEMILL_ZERO_SOCKET", &socket)
        .output()
        .expect("it runs");
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(said.lines().count(), 1, "{said}");
    for part in [&socket.display().to_string(), "pagemill zero serve --pages"] {
        assert!(said.contains(part), "{said}");
    }
}
