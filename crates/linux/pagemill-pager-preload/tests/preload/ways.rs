//! Ways to memory that do not pass the functions that the library replaces.

use std::path::{Path, PathBuf};
use std::process::Command;

use pagemill_pager::Setup;
use pagemill_testkit::skip;

use crate::{has_userfault, run};

fn compiled(folder: &Path, name: &str, text: &str, options: &[&str]) -> PathBuf {
    let source = folder.join(format!("{name}.c"));
    let program = folder.join(name);
    std::fs::write(&source, text).expect("written");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-fno-builtin", "-pthread", "-o"])
        .args([&program, &source])
        .args(options);
    assert!(cc.status().expect("a C compiler").success());
    program
}

/// Gives memory back past the C library, as the runtime of Go does.
const INSTRUCTION: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
enum { BYTES = 8 << 20 };
int main(void) {
    long wrong = 0, answer;
    char *memory = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 7, BYTES);
    __asm__ volatile("syscall" : "=a"(answer) : "a"(28l), "D"(memory), "S"((long)BYTES), "d"(4l) : "rcx", "r11", "memory");
    for (long at = 0; at < BYTES; at++) wrong += memory[at] != 0;
    printf("%ld %ld\n", answer, wrong);
    return 0;
}
"#;

#[test]
#[cfg(target_arch = "x86_64")]
fn calls_by_an_instruction_mean_what_they_mean() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(folder.path(), "program", INSTRUCTION, &[]);
    let output = run(Command::new(program), &Setup::new(2 << 20, "compressed"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0 0\n");
    // Nothing is said: the memory is paged.
    assert!(output.stderr.is_empty(), "{output:?}");
}

const PLUGIN: &str = r#"
#include <stdlib.h>
void *get(size_t bytes) { return malloc(bytes); }
void put(void *memory) { free(memory); }
void *grow(void *memory, size_t bytes) { return realloc(memory, bytes); }
"#;

const HOST: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
int main(int count, char **words) {
    void *plugin = dlopen(words[1], RTLD_NOW | RTLD_DEEPBIND);
    void *(*get)(size_t) = dlsym(plugin, "get");
    void (*put)(void *) = dlsym(plugin, "put");
    void *(*grow)(void *, size_t) = dlsym(plugin, "grow");
    for (size_t bytes = 24; bytes < 8 << 20; bytes *= 3) {
        char *its = memset(get(bytes), 7, bytes), *own = memset(malloc(bytes), 8, bytes);
        its = realloc(its, 2 * bytes);
        own = grow(own, 2 * bytes);
        if (its[bytes - 1] != 7 || own[bytes - 1] != 8) return 1;
        free(its);
        put(own);
        put(strdup("own"));
    }
    return count - 2;
}
"#;

#[test]
#[cfg(target_arch = "x86_64")]
fn a_plugin_that_binds_to_its_own_libraries_has_the_same_allocator() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for options in [
        ["-shared", "-fPIC", "-Wl,-z,lazy"],
        ["-shared", "-fPIC", "-Wl,-z,now"],
    ] {
        let plugin = compiled(folder.path(), "plugin.so", PLUGIN, &options);
        let mut host = Command::new(compiled(folder.path(), "host", HOST, &["-ldl"]));
        host.arg(plugin);
        let output = run(host, &Setup::new(2 << 20, "compressed"));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
}

/// Blocks that are aligned are paged as others are; the most of them that was in frames, beyond what the program starts with.
const ALIGNED: &str = r#"
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { BYTES = 24 << 20 };
static long frames(void) {
    long kib = 0;
    char line[200];
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status)) sscanf(line, "VmRSS: %ld", &kib);
    fclose(status);
    return kib;
}
int main(void) {
    long before = frames();
    void *blocks[6] = {memalign(4096, BYTES), aligned_alloc(64, BYTES), valloc(BYTES), pvalloc(BYTES - 1), memalign(4 << 20, BYTES)};
    if (posix_memalign(&blocks[5], 2 << 20, BYTES) || posix_memalign(&blocks[0], 24, 1 << 20) != 22) return 1;
    static const uintptr_t ALIGNMENTS[] = {4096, 64, 4096, 4096, 4 << 20, 2 << 20};
    for (int i = 0; i < 6; i++) {
        if ((uintptr_t)blocks[i] % ALIGNMENTS[i] || malloc_usable_size(blocks[i]) < BYTES - 1) return 2;
        memset(blocks[i], i + 1, BYTES - 1);
    }
    for (int i = 0; i < 6; i++)
        for (int at = 0; at < BYTES - 1; at += 4095)
            if (((char *)blocks[i])[at] != i + 1) return 3;
    if (frames() - before > 12 << 10) return 4;
    blocks[1] = realloc(blocks[1], 2 * BYTES);
    if (((char *)blocks[1])[BYTES - 2] != 2) return 5;
    for (int i = 0; i < 6; i++) free(blocks[i]);
    return 0;
}
"#;

#[test]
fn aligned_blocks_are_paged() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(folder.path(), "aligned", ALIGNED, &[]);
    let output = run(Command::new(program), &Setup::new(2 << 20, "compressed"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// More live allocations than a process may have mappings.
const MANY: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
enum { BYTES = 4096 };
int main(int count, char **words) {
    long all = atol(words[1]), bad = count - 2;
    char **blocks = malloc(all * sizeof *blocks);
    for (long i = 0; i < all; i++) {
        blocks[i] = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (blocks[i] == MAP_FAILED) return 1;
        blocks[i][9] = i;
    }
    for (long i = 0; i < all; i++) bad += blocks[i][9] != (char)i;
    printf("bad %ld\n", bad);
    return 0;
}
"#;

#[test]
fn more_allocations_than_the_kernel_has_mappings_are_there() {
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").expect("a limit");
    let most: u64 = most.trim().parse().expect("a number");
    if !has_userfault() {
        return;
    }
    if most > 70_000 {
        return skip("the kernel has mappings for more allocations than a test should make");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut program = Command::new(compiled(folder.path(), "many", MANY, &[]));
    program.arg((most + 1_000).to_string());
    let mut setup = Setup::new(64 << 20, "compressed");
    setup.least_bytes = 4096;
    let output = run(program, &setup);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "bad 0\n",
        "{output:?}"
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("vm.max_map_count"), "{said}");
}

/// A child that touches memory which it is not to have, beside a hole.
const CHILD: &str = r#"
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
enum { BYTES = 8 << 20 };
int main(void) {
    for (int round = 0; round < 8; round++) {
        int status;
        char *memory = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(memory, 7, BYTES);
        munmap(memory + BYTES / 4, BYTES / 4);
        madvise(memory, round % 2 ? BYTES / 4 : BYTES, MADV_DONTFORK);
        pid_t child = fork();
        if (child == 0) _exit(memory[17]);
        waitpid(child, &status, 0);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != 11) return round + 1;
    }
    return 0;
}
"#;

#[test]
fn a_child_that_touches_what_it_has_not_ends() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(folder.path(), "program", CHILD, &[]);
    let output = run(Command::new(program), &Setup::new(64 << 20, "compressed"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
