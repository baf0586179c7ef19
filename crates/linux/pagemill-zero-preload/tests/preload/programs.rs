//! Programs whose large memory is the pool's.

use std::process::Command;

use pagemill_testkit::memory_programs::build;
use pagemill_testkit::skip;

use crate::pool::{TestPool, library};

const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 8 << 20 };

static int is_zero(const unsigned char *memory) {
    for (size_t i = 0; i < SIZE; i++) if (memory[i]) return 0;
    return 1;
}

int main(void) {
    for (int round = 0; round < 4; round++) {
        unsigned char *heap = calloc(1, SIZE);
        if (!heap || !is_zero(heap)) return 1;
        if (round == 0 && (size_t)heap % (2 << 20)) return 2;       /* not from the pool */
        if (malloc_usable_size(heap) < SIZE) return 3;
        memset(heap, 7, SIZE);
        heap = realloc(heap, 2 * SIZE);
        if (!heap || heap[0] != 7 || heap[SIZE - 1] != 7) return 4;
        int status;
        pid_t child = fork();                                       /* the child has a copy of its own */
        if (child == 0) { heap[0] = 9; _exit(heap[0] == 9 && heap[1] == 7 ? 0 : 1); }
        if (waitpid(child, &status, 0) != child || status) return 5;
        if (heap[0] != 7) return 6;
        free(heap);
        unsigned char *huge = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
        if (huge == MAP_FAILED) continue;                           /* the kernel has none left either */
        if (!is_zero(huge)) return 7;
        memset(huge, 7, SIZE);
        if (munmap(huge, SIZE)) return 8;
    }
    /* More than the pool has. */
    char *large = malloc((size_t)1 << 30);
    if (!large) return 9;
    large[12345] = 1;
    large = realloc(large, 100);
    free(large);
    void *small = malloc(100);
    if (malloc_usable_size(small) < 100) return 10;
    free(small);
    free(NULL);
    return 0;
}
"#;

#[test]
fn an_unchanged_program_gets_its_large_memory_from_the_pool_and_forks_as_ever() {
    let Some(mut pool) = TestPool::start(24) else {
        return skip("there are no huge pages");
    };
    let source = pool.folder().join("main.c");
    std::fs::write(&source, PROGRAM).expect("written");
    let program = build(pool.folder(), &source, &[]);
    // Recycling takes a moment, for which the program's later rounds do not wait: the first has to be served.
    let status = pool.command(&program).status().expect("it runs");
    let leases = pool.status().counters.leases;
    assert!(leases >= 3, "{leases} leases");
    assert_eq!(status.code(), Some(0), "{status:?}");
}

#[test]
fn without_a_pool_a_program_runs_as_ever() {
    let folder = tempfile::tempdir().expect("a folder");
    let status = Command::new("/bin/ls")
        .env("LD_PRELOAD", library())
        .env("PAGEMILL_ZERO_SOCKET", folder.path().join("none"))
        .env("PAGEMILL_ZERO_MIN", "1")
        .status();
    assert!(status.expect("it runs").success());
}
