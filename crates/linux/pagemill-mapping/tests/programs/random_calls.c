/*
 * Random calls on memory. After every step a digest of what memory holds, and of
 * what the calls answered, goes to standard output: under a preload library it
 * must be what it is without. Addresses are not part of it.
 *
 * usage: random_calls map|heap SEED STEPS
 *
 * Two threads write to words of their own all the time, and end the program if a
 * write of theirs is lost.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, HUGE = 2 << 20, REGIONS = 4, PAGES_MAX = 8 * HUGE / PAGE, WRITTEN = 48, HAMMERS = 2 };

/* Where a page comes from: a mapping of its own, or nowhere. */
struct region {
    char *base;
    void *block; /* heap: to be freed */
    unsigned pages;
    unsigned origin[PAGES_MAX]; /* 0: not mapped; pages of one number were mapped at once */
    unsigned char access[PAGES_MAX];
    struct {
        unsigned page, offset;
    } written[WRITTEN];
    unsigned next_written;
};

static struct region regions[REGIONS];
static uint64_t state, digest = 14695981039346656037u;
static unsigned origins;
static int on_heap, pipes[2];
static __thread sigjmp_buf on_fault;

static void fail(const char *what) {
    fprintf(stderr, "%s (errno %d)\n", what, errno);
    _exit(1);
}

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 2685821657736338717u >> 8;
}

static unsigned below(unsigned limit) { return next_random() % limit; }

static void fold(uint64_t value) {
    for (int i = 0; i < 8; i++, value >>= 8) digest = (digest ^ (value & 255)) * 1099511628211u;
}

static void handle_fault(int signal) {
    (void)signal;
    siglongjmp(on_fault, 1);
}

/* A byte, or 256 where it cannot be read. */
static int get(const char *at) {
    if (sigsetjmp(on_fault, 1)) return 256;
    return *(volatile const unsigned char *)at;
}

static int put(char *at, int value) {
    if (sigsetjmp(on_fault, 1)) return 256;
    *(volatile char *)at = value;
    return 0;
}

/* ---- threads that write all the time ---- */

/* The last words of a region's first page are theirs; that page is left alone. */
static _Atomic(char *) targets[HAMMERS];
static _Atomic int paused, resting;

static void *hammer(void *argument) {
    uintptr_t self = (uintptr_t)argument;
    uint64_t count = 0;
    char *last = NULL;

    for (;;) {
        char *base = atomic_load(&targets[self]);

        if (atomic_load(&paused) || !base) {
            atomic_fetch_add(&resting, 1);
            while (atomic_load(&paused) || !(base = atomic_load(&targets[self]))) usleep(100);
            atomic_fetch_sub(&resting, 1);
            last = NULL;
        }
        volatile uint64_t *word = (void *)(base + PAGE - 64 + 8 * self);
        if (base == last && *word != count) fail("a thread's write was lost");
        *word = ++count;
        last = base;
        if (count % 64 == 0) usleep(50);
    }
    return NULL;
}

/* Regions appear, disappear or move only while no thread writes to them. */
static void pause_hammers(void) {
    atomic_store(&paused, 1);
    while (atomic_load(&resting) != HAMMERS) usleep(20);
}

static void resume_hammers(void) {
    for (int i = 0; i < HAMMERS; i++) atomic_store(&targets[i], regions[i].base);
    atomic_store(&paused, 0);
}

/* ---- what memory holds ---- */

static void look(struct region *region) {
    for (unsigned i = 0; i < WRITTEN; i++) {
        unsigned page = region->written[i].page;

        if (page < region->pages && region->origin[page])
            fold(get(region->base + (size_t)page * PAGE + region->written[i].offset));
    }
    for (int i = 0; i < 8 && region->pages > 1; i++) {
        unsigned page = 1 + below(region->pages - 1), offset = below(PAGE);

        if (region->origin[page]) fold(get(region->base + (size_t)page * PAGE + offset));
    }
}

static void write_byte(struct region *region) {
    unsigned page = 1 + below(region->pages - 1), offset = below(PAGE), value = 1 + below(255);

    if (!region->origin[page]) return;
    fold(put(region->base + (size_t)page * PAGE + offset, value));
    region->written[region->next_written].page = page;
    region->written[region->next_written].offset = offset;
    region->next_written = (region->next_written + 1) % WRITTEN;
}

/* ---- regions ---- */

static void make(struct region *region) {
    size_t bytes = (size_t)(1 + below(3)) * HUGE;

    memset(region, 0, sizeof(*region));
    if (on_heap) {
        bytes = bytes < 2 * HUGE ? 2 * HUGE : bytes;
        region->block = calloc(1, bytes + 2 * PAGE);
        if (!region->block) fail("calloc");
        region->base = (char *)(((uintptr_t)region->block + 2 * PAGE - 1) & -(uintptr_t)PAGE);
    } else {
        region->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (region->base == MAP_FAILED) fail("mmap");
    }
    region->pages = bytes / PAGE;
    origins++;
    for (unsigned i = 0; i < region->pages; i++) {
        region->origin[i] = origins;
        region->access[i] = PROT_READ | PROT_WRITE;
    }
}

static void end(struct region *region) {
    if (on_heap) {
        if (mprotect(region->base, (size_t)region->pages * PAGE, PROT_READ | PROT_WRITE) ||
            madvise(region->base, (size_t)region->pages * PAGE, MADV_DOFORK))
            fail("mprotect before free");
        free(region->block);
        return;
    }
    /* Parts that are not mapped any more may have another owner. */
    for (unsigned i = 0, j; i < region->pages; i = j) {
        for (j = i + 1; j < region->pages && !region->origin[j] == !region->origin[i]; j++);
        if (region->origin[i] && munmap(region->base + (size_t)i * PAGE, (size_t)(j - i) * PAGE)) fail("munmap");
    }
}

/* Pages that were mapped at once, never the first; often whole huge pages, or all to the end. */
static int choose(struct region *region, unsigned *first, unsigned *count) {
    unsigned from = 1 + below(region->pages - 1), to;

    if (below(4) == 0) from = (from + 511) & ~511u;
    if (from >= region->pages || !region->origin[from]) return 0;
    switch (below(4)) {
    case 0:
        to = from + 1;
        break;
    case 1:
        to = from + 1 + below(700);
        break;
    case 2:
        to = (from + 512) & ~511u;
        break;
    default:
        to = region->pages;
    }
    if (to > region->pages) to = region->pages;
    for (unsigned i = from; i < to; i++)
        if (!region->origin[i]) to = i;
    *first = from;
    *count = to - from;
    return to > from;
}

static int is_one_mapping(const struct region *region, unsigned first, unsigned count) {
    for (unsigned i = first; i < first + count; i++)
        if (region->origin[i] != region->origin[first] || region->access[i] != region->access[first]) return 0;
    return 1;
}

static void set(struct region *region, unsigned first, unsigned count, unsigned origin, int access) {
    for (unsigned i = first; i < first + count; i++) {
        region->origin[i] = origin;
        region->access[i] = access;
    }
}

/* The kernel may have these pages as a mapping of their own from now on, which mremap does not cross. */
static void part(struct region *region, unsigned first, unsigned count) {
    origins++;
    for (unsigned i = first; i < first + count; i++) region->origin[i] = origins;
}

/* ---- calls ---- */

static long raw_or(long number, int raw, long a, long b, long c, long d, long e) {
    if (raw) return syscall(number, a, b, c, d, e, 0L);
    switch (number) {
    case SYS_munmap:
        return munmap((void *)a, b);
    case SYS_madvise:
        return madvise((void *)a, b, c);
    case SYS_mprotect:
        return mprotect((void *)a, b, c);
    case SYS_mremap:
        return (long)mremap((void *)a, b, c, d, (void *)e);
    default:
        return mlock((void *)a, b);
    }
}

static void fold_answer(long answer) { fold(answer == -1 ? 1000 + errno : 0); }

static void call_unmap(struct region *region, unsigned first, unsigned count) {
    char *start = region->base + (size_t)first * PAGE;
    unsigned char there[1];

    fold_answer(raw_or(SYS_munmap, below(2), (long)start, (size_t)count * PAGE, 0, 0, 0));
    /* The threads map nothing: the hole is still one. */
    fold(mincore(start, PAGE, there) == -1 && errno == ENOMEM);
    set(region, first, count, 0, 0);
}

static void call_protect(struct region *region, unsigned first, unsigned count) {
    static const int kinds[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE};
    int access = kinds[below(4)];

    fold_answer(
        raw_or(SYS_mprotect, below(2), (long)region->base + (long)first * PAGE, (size_t)count * PAGE, access, 0, 0));
    for (unsigned i = first; i < first + count; i++) region->access[i] = access;
}

static void call_advise(struct region *region, unsigned first, unsigned count) {
    static const int kinds[] = {MADV_DONTNEED,   MADV_DONTNEED,   MADV_DONTNEED, MADV_WILLNEED,
                                MADV_NOHUGEPAGE, MADV_COLD,       MADV_DONTFORK, MADV_DOFORK,
                                MADV_WIPEONFORK, MADV_KEEPONFORK, MADV_RANDOM,   12345};
    int advice = kinds[below(on_heap ? 6 : 12)];
    long start = (long)region->base + (long)first * PAGE;

    if (advice != MADV_DONTNEED && advice != MADV_WILLNEED && advice != MADV_COLD) part(region, first, count);
    if (advice != MADV_DONTNEED || below(8))
        fold_answer(raw_or(SYS_madvise, below(2), start, (size_t)count * PAGE, advice, 0, 0));
    else
        fold_answer(madvise((void *)(start + 1), PAGE, advice));
}

static void call_map_over(struct region *region, unsigned first, unsigned count) {
    char *start = region->base + (size_t)first * PAGE;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    void *answer = mmap(start, (size_t)count * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);

    fold(answer == start);
    set(region, first, count, ++origins, PROT_READ | PROT_WRITE);
}

static void call_remap(struct region *region) {
    size_t bytes = (size_t)region->pages * PAGE, new_bytes;
    unsigned pages = 2 + below(3 * 512);
    char *answer;

    if (!is_one_mapping(region, 0, region->pages)) return;
    new_bytes = (size_t)pages * PAGE;
    pause_hammers();
    if (below(3) == 0) {
        /* To a chosen place. */
        char *place = mmap(NULL, new_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        answer = (char *)raw_or(SYS_mremap, below(2), (long)region->base, bytes, new_bytes,
                                MREMAP_MAYMOVE | MREMAP_FIXED, (long)place);
        fold(answer == place);
    } else {
        answer = (char *)raw_or(SYS_mremap, below(2), (long)region->base, bytes, new_bytes, MREMAP_MAYMOVE, 0);
    }
    if (answer == MAP_FAILED) fail("mremap");
    region->base = answer;
    for (unsigned i = region->pages; i < pages; i++) {
        region->origin[i] = region->origin[0];
        region->access[i] = region->access[0];
    }
    region->pages = pages;
    resume_hammers();
}

static void call_lock(struct region *region, unsigned first) {
    part(region, first, 1);
    fold_answer(raw_or(SYS_mlock, below(2), (long)region->base + (long)first * PAGE, PAGE, 0, 0, 0));
}

/* System calls that read from and write to memory. */
static void call_pipe(struct region *region, unsigned first) {
    char *at = region->base + (size_t)first * PAGE;
    char value = below(256);

    fold_answer(write(pipes[1], at, 1));
    if (write(pipes[1], &value, 1) != 1) fail("write");
    ssize_t answer = read(pipes[0], at, 1);
    fold_answer(answer);
    char rest[8];
    int left = 0;
    struct iovec drain = {rest, sizeof(rest)};
    /* What was refused on either side is still in it. */
    if (ioctl(pipes[0], 0x541B /* FIONREAD */, &left) == 0 && left > 0 && readv(pipes[0], &drain, 1) < 0) fail("readv");
    fold(get(at));
}

/* ---- children ---- */

static int child_pipe[2], go_pipe[2];

static int child(void *argument) {
    char go;

    (void)argument;
    atomic_store(&paused, 1);
    if (read(go_pipe[0], &go, 1) != 1) _exit(3);
    for (int i = 0; i < REGIONS; i++) {
        look(&regions[i]);
        write_byte(&regions[i]);
        look(&regions[i]);
    }
    unsigned first, count;
    if (!on_heap && choose(&regions[2], &first, &count)) call_advise(&regions[2], first, count);
    look(&regions[2]);
    if (write(child_pipe[1], &digest, sizeof(digest)) != sizeof(digest)) _exit(4);
    _exit(0);
}

static pid_t fork_somehow(void) {
    static char stack[1 << 16] __attribute__((aligned(16)));
    struct clone_args arguments = {.exit_signal = SIGCHLD};

    switch (below(6)) {
    case 0:
        return _Fork();
    case 1:
        return syscall(SYS_fork);
    case 2:
        return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    case 3:
        return syscall(SYS_clone3, &arguments, sizeof(arguments));
    case 4:
        return clone(child, stack + sizeof(stack), SIGCHLD, NULL);
    default:
        return fork();
    }
}

static void call_fork(void) {
    uint64_t answer;
    int status;
    pid_t pid = fork_somehow();

    if (pid < 0) fail("fork");
    if (pid == 0) child(NULL);
    /* The child has to see none of this. */
    for (int i = 0; i < REGIONS; i++) write_byte(&regions[i]);
    if (write(go_pipe[1], "g", 1) != 1 || read(child_pipe[0], &answer, 8) != 8) fail("a child");
    if (waitpid(pid, &status, 0) != pid || status) fail("a child ended wrongly");
    fold(answer);
}

static void step(void) {
    struct region *region = &regions[below(REGIONS)];
    unsigned first, count, what = below(on_heap ? 60 : 100);

    if (what == 0) {
        pause_hammers();
        end(region);
        make(region);
        resume_hammers();
    } else if (what == 1) {
        call_fork();
    } else if (what < 40) {
        write_byte(region);
    } else if (choose(region, &first, &count)) {
        if (what < 48)
            call_advise(region, first, count);
        else if (what < 52)
            call_pipe(region, first);
        else if (what < 60)
            call_protect(region, first, count);
        else if (what < 66)
            call_unmap(region, first, count);
        else if (what < 76)
            call_map_over(region, first, count);
        else if (what < 86)
            call_remap(region);
        else if (what < 88)
            call_lock(region, first);
    }
    look(region);
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    on_heap = !strcmp(arguments[1], "heap");
    state = strtoull(arguments[2], NULL, 10) * 2654435761u + 88172645463325252u;
    long steps = atol(arguments[3]);
    struct sigaction action = {.sa_handler = handle_fault};
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};

    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    if (pipe(pipes) || pipe(child_pipe) || pipe(go_pipe)) fail("pipe");
    for (int i = 0; i < REGIONS; i++) make(&regions[i]);
    for (uintptr_t i = 0; i < HAMMERS; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, hammer, (void *)i)) fail("pthread_create");
    }
    resume_hammers();
    for (long i = 0; i < steps; i++) {
        step();
        if (fwrite(&digest, sizeof(digest), 1, stdout) != 1) fail("fwrite");
    }
    fflush(stdout);
    _exit(0);
}
