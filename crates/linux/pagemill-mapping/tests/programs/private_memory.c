/*
 * One promise of private anonymous memory, by name: exit code 0 if it is kept, 1 and a message if not.
 *
 * usage: private_memory CHECK [huge]
 *
 * Memory is 4 MiB, with every page written. With `huge` it is a mapping of huge pages.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, HUGE = 2 << 20, SIZE = 2 * HUGE };

static unsigned char *memory;
static int is_huge;

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s (errno %d)\n", __LINE__, #condition, errno);                                  \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

static unsigned char *map(void) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (is_huge ? MAP_HUGETLB : 0);
    unsigned char *made = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, -1, 0);

    MUST(made != MAP_FAILED);
    for (int i = 0; i < SIZE; i++) MUST(made[i] == 0);
    return memset(made, 7, SIZE);
}

static int all(int from, int to, int value) {
    for (int i = from; i < to; i++)
        if (memory[i] != value) return 0;
    return 1;
}

/* ---- advice ---- */

static void dontneed(void) {
    MUST(madvise(memory, SIZE, MADV_DONTNEED) == 0);
    MUST(all(0, SIZE, 0));
    memory[5] = 1;
    MUST(memory[5] == 1 && all(6, SIZE, 0));
}

static void dontneed_part(void) {
    int from = is_huge ? HUGE : 3 * PAGE, to = is_huge ? SIZE : 4 * PAGE;

    MUST(madvise(memory + from, to - from, MADV_DONTNEED) == 0);
    MUST(all(0, from, 7) && all(from, to, 0) && all(to, SIZE, 7));
}

/* As the kernel has it: parts of huge pages stay. */
static void dontneed_small(void) {
    MUST(madvise(memory, PAGE, MADV_DONTNEED) == 0);
    MUST(all(0, is_huge ? PAGE : 0, 7) && all(0, is_huge ? 0 : PAGE, 0) && all(PAGE, SIZE, 7));
    int answer = madvise(memory + PAGE, PAGE, MADV_DONTNEED);
    MUST(is_huge ? answer == -1 && errno == EINVAL : answer == 0);
}

static void dontneed_by_syscall(void) {
    MUST(syscall(SYS_madvise, memory, SIZE, MADV_DONTNEED) == 0);
    MUST(all(0, SIZE, 0));
}

static void dontneed_across(void) {
    /* From ordinary memory, over a hole, into the block, and beyond. */
    unsigned char *room =
        mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t low = (size_t)(memory < room ? memory : room), high = (size_t)(memory < room ? room : memory);

    if (high - low > (1ul << 32)) return;
    memset(room, 7, 2 * PAGE);
    /* Everything between is ours or not mapped: nothing else is harmed only if there is nothing. */
    if (high - low == SIZE || (room < memory && high - low == 2 * SIZE)) {
        MUST(madvise((void *)low, high - low + PAGE, MADV_DONTNEED) == 0 || errno == ENOMEM);
        MUST(memory[0] == 0 && room[0] == 0);
    }
}

static void process_advice(void) {
    struct iovec ranges[2] = {{memory, PAGE}, {memory + HUGE, HUGE}};
    int process = syscall(SYS_pidfd_open, getpid(), 0);

    MUST(process >= 0);
    ssize_t answer = process_madvise(process, ranges, 2, MADV_DONTNEED, 0);
    if (answer == -1 && (errno == EINVAL || errno == EPERM)) return; /* not on this kernel */
    MUST(answer == PAGE + HUGE);
    MUST(all(0, PAGE, 0) && all(PAGE, HUGE, 7) && all(HUGE, SIZE, 0));
}

static void free_advice(void) {
    int answer = madvise(memory, SIZE, MADV_FREE);

    MUST(answer == 0 || is_huge);
    for (int i = 0; i < SIZE; i++) MUST(memory[i] == 7 || memory[i] == 0);
    memset(memory, 9, SIZE);
    MUST(all(0, SIZE, 9));
}

/* ---- places ---- */

static volatile sig_atomic_t faults;
static void count_fault(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    faults++;
    MUST(mprotect((void *)((size_t)info->si_addr & -PAGE), PAGE, PROT_READ | PROT_WRITE) == 0);
}

static void protect_part(void) {
    struct sigaction action = {.sa_sigaction = count_fault, .sa_flags = SA_SIGINFO};

    sigaction(SIGSEGV, &action, NULL);
    MUST(mprotect(memory + 5 * PAGE, PAGE, PROT_NONE) == 0);
    MUST(all(0, 5 * PAGE, 7) && all(6 * PAGE, SIZE, 7) && !faults);
    memory[5 * PAGE + 1] = 8;
    MUST(faults == 1 && memory[5 * PAGE] == 7 && memory[5 * PAGE + 1] == 8);
    MUST(mprotect(memory, SIZE, PROT_READ) == 0 && all(6 * PAGE, SIZE, 7));
    /* Given up and taken again, as garbage collectors do. */
    MUST(mprotect(memory, SIZE, PROT_NONE) == 0 && madvise(memory, SIZE, MADV_DONTNEED) == 0);
    MUST(mprotect(memory, SIZE, PROT_READ | PROT_WRITE) == 0 && all(0, SIZE, 0));
}

static void unmap_part(void) {
    unsigned char there[1];

    MUST(munmap(memory + 3 * PAGE, 2 * PAGE) == 0);
    MUST(mincore(memory + 3 * PAGE, PAGE, there) == -1 && errno == ENOMEM);
    MUST(all(0, 3 * PAGE, 7) && all(5 * PAGE, SIZE, 7));
    MUST(munmap(memory + HUGE, HUGE) == 0);
    MUST(all(0, 3 * PAGE, 7) && all(5 * PAGE, HUGE, 7));
    MUST(munmap(memory, HUGE) == 0);
}

static void map_over_part(void) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    unsigned char *over = mmap(memory + 7 * PAGE, PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);

    MUST(over == memory + 7 * PAGE);
    MUST(all(0, 7 * PAGE, 7) && all(7 * PAGE, 8 * PAGE, 0) && all(8 * PAGE, SIZE, 7));
    MUST(mmap(memory + HUGE, HUGE, PROT_READ | PROT_WRITE, flags, -1, 0) == memory + HUGE);
    MUST(all(HUGE, SIZE, 0) && all(8 * PAGE, HUGE, 7));
}

static void remap(void) {
    memory = mremap(memory, SIZE, 2 * SIZE, MREMAP_MAYMOVE);
    MUST(memory != MAP_FAILED && all(0, SIZE, 7) && all(SIZE, 2 * SIZE, 0));
    memory = mremap(memory, 2 * SIZE, HUGE + PAGE, 0);
    MUST(memory != MAP_FAILED && all(0, HUGE + PAGE, 7));
    unsigned char *place = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory = mremap(memory, HUGE + PAGE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    MUST(memory == place && all(0, HUGE + PAGE, 7) && all(HUGE + PAGE, SIZE, 0));
}

static void lock_and_sync(void) {
    MUST(mlock(memory + PAGE, PAGE) == 0 || errno == ENOMEM || errno == EPERM);
    MUST(msync(memory, SIZE, MS_SYNC) == 0);
    MUST(munlock(memory, SIZE) == 0 && all(0, SIZE, 7));
}

/* ---- forks ---- */

static int child_writes(void *argument) {
    (void)argument;
    if (!all(0, SIZE, 7)) _exit(2);
    memset(memory, 99, SIZE);
    free(malloc(8 << 20));
    _exit(all(0, SIZE, 99) ? 0 : 3);
}

static void is_private_to(pid_t child) {
    int status;

    MUST(child > 0);
    /* Until here the child may have seen the parent's bytes only. */
    MUST(waitpid(child, &status, 0) == child);
    MUST(status == 0);
    MUST(all(0, SIZE, 7));
    memset(memory, 8, SIZE);
    MUST(all(0, SIZE, 8));
}

#define FORKS(name, call)                                                                                              \
    static void name(void) {                                                                                           \
        pid_t child = call;                                                                                            \
        if (child == 0) child_writes(NULL);                                                                            \
        is_private_to(child);                                                                                          \
    }

static char stack[1 << 16] __attribute__((aligned(16)));
static struct clone_args arguments = {.exit_signal = SIGCHLD};

FORKS(fork_by_libc, fork())
FORKS(fork_bare, _Fork())
FORKS(fork_by_syscall, syscall(SYS_fork))
FORKS(clone_by_syscall, syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))
FORKS(clone3_by_syscall, syscall(SYS_clone3, &arguments, sizeof(arguments)))
FORKS(clone_by_libc, clone(child_writes, stack + sizeof(stack), SIGCHLD, NULL))

static void child_has(int is_there) {
    int status;
    pid_t child = fork();

    if (child == 0) {
        if (is_there) child_writes(NULL);
        _exit(msync(memory, SIZE, MS_ASYNC) == -1 && errno == ENOMEM ? 0 : 4);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0 && all(0, SIZE, 7));
}

/* Whether the kernel copies the memory at no fork: flag `dc` of its mapping. */
static int is_kept_back(void) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    unsigned long start = 0, end = 0, place = (unsigned long)memory;
    char line[512];

    while (maps && fgets(line, sizeof(line), maps)) {
        sscanf(line, "%lx-%lx ", &start, &end);
        if (start <= place && place < end && !strncmp(line, "VmFlags:", 8)) {
            fclose(maps);
            return strstr(line, " dc ") != NULL;
        }
    }
    return 0;
}

/* Also after another call, and until the advice is taken back. */
static void kept_from_children(void) {
    MUST(madvise(memory, SIZE, MADV_DONTFORK) == 0);
    child_has(0);
    MUST(mprotect(memory, SIZE, PROT_READ) == 0);
    MUST(is_kept_back());
    MUST(mprotect(memory, SIZE, PROT_READ | PROT_WRITE) == 0 && madvise(memory, SIZE, MADV_DOFORK) == 0);
    child_has(1);
    memory = map();
    MUST(madvise(memory, SIZE, MADV_DONTFORK) == 0 && madvise(memory, SIZE, MADV_DOFORK) == 0);
    child_has(1);
}

/* The parent writes while the child looks: each has its own. */
static void parent_writes(void) {
    int ends[2], status;
    char go;

    MUST(pipe(ends) == 0);
    pid_t child = syscall(SYS_fork);
    if (child == 0) {
        if (read(ends[0], &go, 1) != 1) _exit(4);
        child_writes(NULL);
    }
    memset(memory, 55, SIZE);
    MUST(write(ends[1], "g", 1) == 1 && waitpid(child, &status, 0) == child);
    MUST(status == 0 && all(0, SIZE, 55));
}

/* No library sees this one. The child may end when it touches the memory; it must not share it. */
static void fork_by_instruction(void) {
#ifdef __x86_64__
    long child = SYS_fork;
    int status;

    __asm__ volatile("syscall" : "+a"(child) : : "rcx", "r11", "memory");
    if (child == 0) {
        memset(memory, 99, SIZE);
        _exit(0);
    }
    MUST(waitpid(child, &status, 0) == child);
    MUST(all(0, SIZE, 7));
    child = SYS_fork;
    __asm__ volatile("syscall" : "+a"(child) : : "rcx", "r11", "memory");
    if (child == 0) {
        /* Its own allocator works. */
        char *own = malloc(8 << 20);

        memset(own, 1, 8 << 20);
        free(own);
        _exit(0);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0);
#endif
}

static void shares_by_vfork(void) {
    int status;
    pid_t child = vfork();

    if (child == 0) {
        memory[0] = 9;
        _exit(0);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0 && memory[0] == 9);
    MUST(system("true") == 0 && memory[0] == 9);
    MUST(madvise(memory, SIZE, MADV_DONTNEED) == 0 && all(0, SIZE, 0));
}

static void many_generations(void) {
    for (int generation = 0; generation < 4; generation++) {
        int status;
        pid_t child = generation % 2 ? syscall(SYS_fork) : fork();

        MUST(child >= 0);
        if (child > 0) {
            MUST(waitpid(child, &status, 0) == child && status == 0);
            MUST(all(0, SIZE, 7 + generation));
            _exit(0);
        }
        MUST(all(0, SIZE, 7 + generation));
        memset(memory, 8 + generation, SIZE);
    }
    _exit(0);
}

/* ---- threads ---- */

static volatile int is_over;
static void *write_on(void *argument) {
    volatile unsigned long *word = argument, count = 0;

    while (!is_over) {
        *word = ++count;
        MUST(*word == count);
    }
    return NULL;
}

/* Others write to the memory while calls change it: they notice nothing. */
static void beside_writers(int change) {
    for (int round = 0; round < 6; round++) {
        pthread_t writers[2];

        is_over = 0;
        for (int i = 0; i < 2; i++) MUST(pthread_create(&writers[i], NULL, write_on, memory + i * 64) == 0);
        usleep(3000);
        int status = 0;
        pid_t child;
        switch (change) {
        case 0:
            MUST(mprotect(memory + HUGE, PAGE, PROT_READ) == 0);
            break;
        case 1:
            MUST(munmap(memory + SIZE - PAGE, PAGE) == 0);
            break;
        default:
            child = round % 2 ? syscall(SYS_fork) : fork();
            if (child == 0) {
                memset(memory, 99, SIZE);
                _exit(0);
            }
            MUST(waitpid(child, &status, 0) == child && status == 0);
        }
        usleep(3000);
        is_over = 1;
        for (int i = 0; i < 2; i++) MUST(pthread_join(writers[i], NULL) == 0);
        MUST(all(128, HUGE, 7));
        munmap(memory, SIZE);
        memory = map();
    }
}

static void protect_beside_writers(void) { beside_writers(0); }
static void unmap_beside_writers(void) { beside_writers(1); }
static void fork_beside_writers(void) { beside_writers(2); }

/* ---- heap ---- */

static void heap(void) {
    unsigned char *block = calloc(1, 2 * SIZE);
    int status;

    memory = (unsigned char *)(((size_t)block + PAGE - 1) & -PAGE);
    MUST(block && all(0, SIZE, 0));
    memset(memory, 7, SIZE);
    dontneed_part();
    memset(memory, 7, SIZE);
    protect_part();
    pid_t child = fork();
    if (child == 0) {
        memset(memory, 1, SIZE);
        free(block);
        _exit(0);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0 && all(0, SIZE, 0));
    block = realloc(block, 3 * SIZE);
    MUST(block && block[0] == 0);
    free(block);
}

static void closed_descriptors(void) {
    /* Numbers that a library may think are its own. */
    MUST(close_range(3, ~0u, 0) == 0);
    int ends[2];
    MUST(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    MUST(munmap(memory, SIZE) == 0);
    memory = map();
    MUST(munmap(memory, SIZE) == 0);
    char got;
    MUST(read(ends[0], &got, 1) == 1 && got == 'x');
}

static const struct {
    const char *name;
    void (*check)(void);
} checks[] = {
#define CHECK(name) {#name, name}
    CHECK(dontneed),
    CHECK(dontneed_part),
    CHECK(dontneed_small),
    CHECK(dontneed_by_syscall),
    CHECK(dontneed_across),
    CHECK(process_advice),
    CHECK(free_advice),
    CHECK(protect_part),
    CHECK(unmap_part),
    CHECK(map_over_part),
    CHECK(remap),
    CHECK(lock_and_sync),
    CHECK(fork_by_libc),
    CHECK(kept_from_children),
    CHECK(fork_bare),
    CHECK(fork_by_syscall),
    CHECK(clone_by_syscall),
    CHECK(clone3_by_syscall),
    CHECK(clone_by_libc),
    CHECK(parent_writes),
    CHECK(fork_by_instruction),
    CHECK(shares_by_vfork),
    CHECK(many_generations),
    CHECK(protect_beside_writers),
    CHECK(unmap_beside_writers),
    CHECK(fork_beside_writers),
    CHECK(heap),
    CHECK(closed_descriptors),
};

int main(int count, char **words) {
    is_huge = count > 2 && !strcmp(words[2], "huge");
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        if (count > 1 && !strcmp(words[1], checks[i].name)) {
            memory = map();
            checks[i].check();
            return 0;
        }
    }
    return 2;
}
