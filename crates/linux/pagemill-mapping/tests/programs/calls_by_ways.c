/* Random calls on memory, each made in a random way and from a random place; prints what memory holds after each.
 * Compiled twice: the program, and with -DPLUGIN a plugin, whose search path starts with its own libraries.
 * Words: seed, steps, the plugin's path. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

typedef long Way(long n, long a, long b, long c, long d, long e, long f);

/* ---- instructions: the number gets into its register in other ways ---- */

#define BEHIND                                                                                                         \
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;                                  \
    long got
#define REST "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory"
static volatile long table[512];

static long by_pop(long n, long a, long b, long c, long d, long e, long f) {
    BEHIND;
    __asm__ volatile("sub $128, %%rsp; push %%rax; xor %%eax, %%eax; pop %%rax; add $128, %%rsp; syscall"
                     : "=a"(got)
                     : "a"(n), REST);
    return got;
}
static long by_table(long n, long a, long b, long c, long d, long e, long f) {
    BEHIND;
    __asm__ volatile("mov (%%rax), %%rax; syscall" : "=a"(got) : "a"(&table[n]), REST);
    return got;
}
static long by_jump(long n, long a, long b, long c, long d, long e, long f) {
    BEHIND;
    __asm__ volatile("jmp 2f; 1: ud2; 2: syscall" : "=a"(got) : "a"(n), REST);
    return got;
}
static long by_sum(long n, long a, long b, long c, long d, long e, long f) {
    BEHIND;
    __asm__ volatile("lea 7(%%rax), %%rax; sub $7, %%eax; syscall" : "=a"(got) : "a"(n), REST);
    return got;
}
static long by_exchange(long n, long a, long b, long c, long d, long e, long f) {
    BEHIND;
    __asm__ volatile("mov %%rax, %%r11; xor %%eax, %%eax; xchg %%rax, %%r11; syscall" : "=a"(got) : "a"(n), REST);
    return got;
}
static long by_constant(long n, long a, long b, long c, long d, long e, long f) {
    BEHIND;
    if (n == SYS_madvise)
        __asm__ volatile("mov $28, %%eax; syscall" : "=a"(got) : REST);
    else if (n == SYS_munmap)
        __asm__ volatile("push $11; pop %%rax; syscall" : "=a"(got) : REST);
    else
        __asm__ volatile("syscall" : "=a"(got) : "a"(n), REST);
    return got;
}
static long by_rest(long n, long a, long b, long c, long d, long e, long f) {
    BEHIND;
    __asm__ volatile("or $0, %%eax; .byte 0x48; syscall" : "=a"(got) : "a"(n), REST);
    return got;
}
static const unsigned char CODE[] = {0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6, 0x48, 0x89, 0xca, 0x4d,
                                     0x89, 0xc2, 0x4d, 0x89, 0xc8, 0x4c, 0x8b, 0x4c, 0x24, 0x08, 0x0f, 0x05, 0xc3};
static Way *made;

/* ---- functions ---- */

static long told(long answer) { return answer == -1 ? -errno : answer; }

static long by_function(long n, long a, long b, long c, long d, long e, long f) {
    switch (n) {
    case SYS_madvise:
        return told(madvise((void *)a, b, c));
    case SYS_mmap:
        return told((long)mmap((void *)a, b, c, d, e, f));
    case SYS_munmap:
        return told(munmap((void *)a, b));
    case SYS_mprotect:
        return told(mprotect((void *)a, b, c));
    case SYS_mremap:
        return told((long)mremap((void *)a, b, c, d, (void *)e));
    case SYS_mlock:
        return told(mlock((void *)a, b));
    case SYS_munlock:
        return told(munlock((void *)a, b));
    }
    return told(syscall(n, a, b, c, d, e, f));
}
static long by_syscall(long n, long a, long b, long c, long d, long e, long f) {
    return told(syscall(n, a, b, c, d, e, f));
}

#ifdef PLUGIN
long plugin_function(long n, long a, long b, long c, long d, long e, long f) {
    return by_function(n, a, b, c, d, e, f);
}
long plugin_instruction(long n, long a, long b, long c, long d, long e, long f) { return by_pop(n, a, b, c, d, e, f); }
void *plugin_block(void *block, size_t bytes) { return realloc(block, bytes); }
void *const unused[] = {by_table, by_jump, by_sum, by_exchange, by_constant, by_rest, by_syscall, (void *)CODE, &made};
#else

static void *library;
static long from(void *where, long n, long a, long b, long c, long d, long e, long f) {
    static const struct {
        long number;
        const char *name;
    } NAMES[] = {{SYS_madvise, "madvise"}, {SYS_mmap, "mmap"},   {SYS_munmap, "munmap"},  {SYS_mprotect, "mprotect"},
                 {SYS_mremap, "mremap"},   {SYS_mlock, "mlock"}, {SYS_munlock, "munlock"}};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (NAMES[i].number == n) {
            long (*function)(long, long, long, long, long, long) = (void *)dlsym(where, NAMES[i].name);
            long answer = function(a, b, c, d, e, f);
            return told(n == SYS_mmap || n == SYS_mremap ? answer : (int)answer);
        }
    return -ENOSYS;
}
static long by_handle(long n, long a, long b, long c, long d, long e, long f) {
    return from(library, n, a, b, c, d, e, f);
}
static long by_next(long n, long a, long b, long c, long d, long e, long f) {
    return from(RTLD_NEXT, n, a, b, c, d, e, f);
}

enum { PAGE = 4096, PAGES = 1536, BYTES = PAGES * PAGE, WAYS = 15 };
static Way *ways[WAYS] = {by_function, by_handle, by_next,     by_syscall,  by_pop, by_table,
                          by_jump,     by_sum,    by_exchange, by_constant, by_rest};
static char *memory, *other;
static uint64_t state;

static unsigned below(unsigned bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
}

static uint64_t contents(void) {
    uint64_t sum = 0;
    for (long at = 0; at < BYTES; at += 512) sum = sum * 31 + (unsigned char)memory[at];
    return sum;
}

static void fill(void) {
    unsigned first = below(PAGES), count = below(PAGES - first) + 1;
    for (unsigned page = first; page < first + count; page++)
        memset(memory + (long)page * PAGE, (int)(below(255) + 1), PAGE);
}

static struct {
    int call;
    Way *way;
    long at, bytes, answer;
} step;

/* One call or two; memory is readable and writable afterwards. */
static void make(void) {
    Way *way = step.way;
    long at = (long)memory + step.at, bytes = step.bytes, answer = 0;
    int access = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    switch (step.call) {
    case 0:
        answer = way(SYS_madvise, at, bytes, MADV_DONTNEED, 0, 0, 0);
        break;
    case 1:
        answer = way(SYS_mmap, at, bytes, access, flags | MAP_FIXED, -1, 0) == at;
        break;
    case 2:
        answer = way(SYS_munmap, at, bytes, 0, 0, 0, 0);
        answer += way(SYS_mmap, at, bytes, access, flags | MAP_FIXED, -1, 0) == at;
        break;
    case 3:
        answer = way(SYS_mprotect, at, bytes, PROT_READ, 0, 0, 0);
        answer += way(SYS_mprotect, at, bytes, access, 0, 0, 0);
        break;
    case 4: {
        long there = (long)other + step.at;
        for (long done = 0; done < bytes; done += PAGE) {
            /* Parts of one mapping each: there may be several by now. */
            answer +=
                way(SYS_mremap, at + done, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, there + done, 0) == there + done;
            answer +=
                way(SYS_mremap, there + done, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at + done, 0) == at + done;
        }
        break;
    }
    case 5:
        answer = way(SYS_mlock, at, PAGE, 0, 0, 0, 0);
        answer += way(SYS_munlock, at, PAGE, 0, 0, 0, 0);
        break;
    case 6:
        answer = way(SYS_madvise, at, bytes, MADV_WILLNEED, 0, 0, 0);
        break;
    }
    step.answer = answer;
}

static void *in_thread(void *unused) { return make(), unused; }
static void in_handler(int signal) {
    (void)signal;
    make();
}

static void made_from(int place) {
    pthread_t thread;
    int status = 0;
    switch (place) {
    case 1:
        pthread_create(&thread, NULL, in_thread, NULL);
        pthread_join(thread, NULL);
        return;
    case 2:
        raise(SIGUSR1);
        return;
    case 3: {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            make();
            printf("child: %ld %016llx\n", step.answer, (unsigned long long)contents());
            fflush(stdout);
            _exit(0);
        }
        waitpid(child, &status, 0);
        step.answer = status;
        return;
    }
    }
    make();
}

/* The last step: an io_uring made by hand takes the advice. */
static void by_ring(void) {
    struct {
        uint32_t entries[30];
    } parameters = {0};
    int ring = (int)by_pop(425, 4, (long)&parameters, 0, 0, 0, 0);
    if (ring < 0) {
        puts("no ring");
        return;
    }
    uint32_t *offsets = parameters.entries + 10;
    char *queue = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, 0);
    uint64_t *entry = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, 0x10000000);
    if (queue == MAP_FAILED || entry == MAP_FAILED) {
        puts("no ring");
        return;
    }
    entry[0] = 25 | (uint64_t)(uint32_t)-1 << 32, entry[2] = (uint64_t)memory,
    entry[3] = BYTES / 2 | (uint64_t)MADV_DONTNEED << 32;
    ((uint32_t *)(queue + offsets[6]))[0] = 0;
    __atomic_store_n((uint32_t *)(queue + offsets[1]), 1, __ATOMIC_RELEASE);
    long answer = by_jump(426, ring, 1, 1, 1, 0, 0);
    printf("ring: %ld %016llx\n", answer, (unsigned long long)contents());
}

int main(int count, char **words) {
    if (count != 4) return 2;
    state = strtoull(words[1], NULL, 10);
    for (int n = 0; n < 512; n++) table[n] = n;
    library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    char *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, CODE, sizeof CODE);
    ways[11] = made = (Way *)code;
    int known = 12;
    memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    other = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK};
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    fill();
    for (long i = 0, steps = atol(words[2]); i < steps; i++) {
        if (i == steps / 3) { /* The plugin comes late. */
            void *plugin = dlopen(words[3], RTLD_NOW | RTLD_DEEPBIND);
            void *(*block)(void *, size_t) = dlsym(plugin, "plugin_block");
            void (*give)(void *) = dlsym(library, "free");
            ways[12] = dlsym(plugin, "plugin_function"), ways[13] = dlsym(plugin, "plugin_instruction"), known = 14;
            char *text = block(malloc(300 << 10), 3 << 20);
            memset(text, 5, 3 << 20);
            give(text);
        }
        if (below(3) == 0) fill();
        unsigned first = below(PAGES), way = below(known), place = below(8);
        step.call = (int)below(7), step.way = ways[way], step.at = (long)first * PAGE;
        step.bytes = (long)(below(PAGES - first) + 1) * PAGE;
        if (step.call == 4 && step.bytes > 16 * PAGE) step.bytes = 16 * PAGE;
        made_from(place < 4 ? (int)place : 0);
        printf("%ld: call %d, way %u, place %u: %ld %016llx\n", i, step.call, way, place, step.answer,
               (unsigned long long)contents());
    }
    by_ring();
    return 0;
}
#endif
