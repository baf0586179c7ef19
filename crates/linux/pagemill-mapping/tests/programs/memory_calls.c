/*
 * What a call does to private memory, as one line: tests compare the line with that of a plain run.
 *
 * usage: memory_calls map|heap CALL [NUMBER]      or      memory_calls names
 *
 * Memory is 8 MiB, and each page holds its own byte.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_mseal
#define SYS_mseal 462
#endif
#define PAGE 4096ul
#define SIZE (8ul << 20)
#define PAGES (SIZE / PAGE)
#define PART (16 * PAGE)
#define HUGE (2ul << 20)

static char *p;
static int is_heap;

#include "touches.h"

static int byte(size_t page) { return 1 + (page * 7 + (page >> 8)) % 251; }

static char *fill(char *memory) {
    for (size_t page = 0; page < PAGES; page++) memset(memory + page * PAGE, byte(page), PAGE);
    return memory;
}

/* From a multiple of 2 MiB on, so that all runs have the same bytes at the same places. */
static char *fresh(size_t size) {
    char *got = is_heap ? malloc(size + HUGE)
                        : mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return got == NULL || got == MAP_FAILED ? MAP_FAILED : (char *)(((uintptr_t)got + HUGE - 1) & -HUGE);
}

/* Pages of a range that do not hold their byte. */
static int wrong(const char *memory, size_t from, size_t to) {
    int count = 0;

    for (size_t page = from / PAGE; page < to / PAGE; page++) count += at(memory + page * PAGE + 17) != byte(page);
    return count;
}

static const char *told(long answer) { return answer == -1 ? strerror(errno) : "ok"; }

/* The same of an advice. Whether the kernel finds a huge page to collapse memory into is chance. */
static const char *told_of(long advice, long answer) { return told(advice == 25 && errno == ENOMEM ? 0 : answer); }

static void all_there(const char *what, long answer) {
    const char *text = told(answer);

    printf("%s: %s, wrong %d\n", what, text, wrong(p, 0, SIZE));
}

/* Pages that a child of fork sees otherwise than `p` has them now. */
static void in_child(size_t from) {
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        printf("child: in %d, beside %d %d\n", at(p + from), at(p + from - 1), at(p + from + PART));
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    printf("child ends %d, parent in %d\n", status, at(p + from));
}

static void drop_administration(void) {
    /* As of linux/capability.h, version 3. Without it no page of the machine is harmed by a test. */
    unsigned header[2] = {0x20080522, 0}, sets[6];

    if (syscall(SYS_capget, header, sets) == 0) {
        sets[0] &= ~(1u << 21);
        syscall(SYS_capset, header, sets);
    }
}

static void advice(long number) {
    size_t from = HUGE;
    drop_administration();
    for (int whole = 0; whole < 2; whole++) {
        size_t start = whole ? from : from + 5 * PAGE, size = whole ? HUGE : PART;

        fill(p);
        printf("%s: ", told_of(number, madvise(p + start, size, number)));
        /* Memory that is free may be gone already. */
        if (number != MADV_FREE) {
            printf("in %d %d, beside %d %d\n", at(p + start), at(p + start + size - 1), at(p + start - 1),
                   at(p + start + size));
            in_child(start);
        }
        int fault = put(p + start, 77);
        printf("write %d, then %d\n", fault, at(p + start));
        madvise(p + start, size, 103), madvise(p + start, size, 19);
    }
    printf("unaligned: %s\n", told(madvise(p + 1, PAGE, number)));
    printf("over the end: %s\n", told(madvise(p, -PAGE, number)));
    printf("nothing: %s\n", told(madvise(p, 0, number)));
    printf("over a hole: %s\n", told(munmap(p + 4 * PART, PART)));
    if (number < 100) printf("%s\n", told(madvise(p, SIZE, number)));
}

static void advice_of_process(long number) {
    (void)number;
    int self = syscall(SYS_pidfd_open, getpid(), 0);
    struct iovec parts[2] = {{p, PART}, {p + SIZE / 2, PART}};
    for (int each = 0; each < 31; each++) {
        fill(p);
        long answer = syscall(SYS_process_madvise, self, parts, 2, each, 0);
        printf("%d: %ld %s", each, each == 25 ? 0 : answer, told_of(each, answer));
        printf(", in %d\n", each == MADV_FREE ? 0 : at(p));
    }
}

/* A mapping that became plain by one call, and then takes advice. */
static void collapse_after_protect(long number) {
    (void)number;
    char *start = p + HUGE;

    printf("%s, ", told(mprotect(start, HUGE, PROT_READ)));
    printf("%s, ", told(mprotect(start, HUGE, PROT_READ | PROT_WRITE)));
    printf("%s\n", told_of(25, madvise(start, HUGE, 25)));
    all_there("collapsed", 0);
}

/* ---- pages that the kernel refers to ---- */

/* Has everything else of the memory be touched, so that pages move. */
static void go_through(size_t but) {
    for (int round = 0; round < 2; round++)
        for (size_t page = 0; page < PAGES; page++) at(p + (but + PART + page * PAGE) % SIZE);
}

static int differs(const char *got, size_t from) {
    int count = 0;

    for (size_t i = 0; i < PART; i += PAGE) count += (unsigned char)got[i + 17] != byte((from + i) / PAGE);
    return count;
}

static void give_pages(long flags) {
    int ends[2], count = 0;
    static char got[PART];

    if (pipe(ends) != 0) return;
    for (size_t from = 0; from < SIZE; from += SIZE / 16) {
        struct iovec part = {p + from, PART};
        long size = vmsplice(ends[1], &part, 1, flags), have = 0;

        go_through(from);
        while (have < size) have += read(ends[0], got + have, size - have);
        count += differs(got, from);
    }
    printf("wrong in the pipe: %d\n", count);
    all_there("after", 0);
}

static void vmsplice_copies(long number) {
    (void)number;
    give_pages(0);
}
static void vmsplice_gift(long number) {
    (void)number;
    give_pages(SPLICE_F_GIFT);
}

static void zero_copy(long how) {
    int one = 1, count = 0, listening = socket(AF_INET, SOCK_STREAM, 0), from_here = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    static char got[PART];

    bind(listening, (void *)&address, size), listen(listening, 1);
    getsockname(listening, (void *)&address, &size);
    connect(from_here, (void *)&address, size);
    int to = accept(listening, NULL, NULL);
    printf("%s\n", told(setsockopt(from_here, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one))));
    for (size_t from = 0; from < SIZE; from += SIZE / 16) {
        struct iovec part = {p + from, PART};
        struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};

        switch (how) {
        case 0:
            send(from_here, p + from, PART, MSG_ZEROCOPY);
            break;
        case 1:
            sendto(from_here, p + from, PART, MSG_ZEROCOPY, NULL, 0);
            break;
        case 2:
            sendmsg(from_here, &message.msg_hdr, MSG_ZEROCOPY);
            break;
        case 3:
            sendmmsg(from_here, &message, 1, MSG_ZEROCOPY);
            break;
        default:
            syscall(SYS_sendto, from_here, p + from, PART, MSG_ZEROCOPY, NULL, 0);
        }
        go_through(from);
        recv(to, got, PART, MSG_WAITALL);
        count += differs(got, from);
    }
    printf("wrong received: %d\n", count);
}

static void bad_vectors(long number) {
    (void)number;
    int ends[2];

    if (pipe(ends) != 0) return;
    printf("%s, ", told(vmsplice(ends[1], (void *)1, 1, 0)));
    struct iovec part = {(void *)PAGE, PART};
    printf("%s\n", told(vmsplice(ends[1], &part, 1, 0)));
}

static void own_faults(long number) {
    (void)number;
    long own = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.range = {(uintptr_t)p, SIZE}, .mode = UFFDIO_REGISTER_MODE_MISSING};

    printf("%s, ", told(ioctl(own, UFFDIO_API, &api)));
    printf("%s\n", told(ioctl(own, UFFDIO_REGISTER, &range)));
    all_there("registered", ioctl(own, UFFDIO_UNREGISTER, &range.range));
}

/* ---- locked memory ---- */

static long locked(void) {
    char line[256];
    long size = -1;
    FILE *file = fopen("/proc/self/status", "r");

    while (fgets(line, sizeof(line), file)) sscanf(line, "VmLck: %ld", &size);
    fclose(file);
    return size;
}

static int resident(char *memory) {
    static unsigned char there[PAGES];
    int count = 0;

    if (mincore(memory, SIZE, there) != 0) return -errno;
    for (size_t page = 0; page < PAGES; page++) count += there[page] & 1;
    return count;
}

static void lock(long number) {
    (void)number;
    all_there("mlock", mlock(p, SIZE));
    printf("locked %ld, resident %d\n", locked(), resident(p));
    all_there("munlock", munlock(p, SIZE));
    printf("locked %ld\n", locked());
    all_there("on fault", mlock2(p + PAGE, PART, MLOCK_ONFAULT));
    printf("locked %ld, ", locked());
    all_there("munlockall", munlockall());
    printf("locked %ld\n", locked());
}

static void lock_all(long flags) {
    all_there("mlockall", mlockall(flags));
    if (flags & MCL_CURRENT && !(flags & MCL_ONFAULT)) printf("resident %d\n", resident(p));
    char *next = fresh(SIZE);
    if (!(flags & MCL_FUTURE)) fill(next);
    if (!is_heap && !(flags & MCL_ONFAULT)) printf("next: resident %d\n", resident(next));
    printf("next: wrong %d\n", wrong(fill(next), 0, SIZE));
    all_there("munlockall", munlockall());
}

static void lock_beyond_limit(long number) {
    (void)number;
    struct rlimit limit = {PART, PART};

    setrlimit(RLIMIT_MEMLOCK, &limit);
    printf("%s\n", told(setuid(65534)));
    all_there("mlock", mlock(p, SIZE));
}

/* ---- places ---- */

static void seal(long number) {
    (void)number;
    all_there("mseal", syscall(SYS_mseal, p + PART, PART, 0));
    all_there("munmap", munmap(p, SIZE));
    all_there("over it",
              mmap(p, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : 0);
    all_there("mprotect", mprotect(p, SIZE, PROT_NONE));
    printf("%s\n", told(madvise(p, SIZE, MADV_DONTNEED)));
}

static void remap(long number) {
    char *room = mmap(NULL, 4 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *got;

    switch (number) {
    case 0:
        got = mremap(p, SIZE, 2 * SIZE, MREMAP_MAYMOVE);
        break;
    case 1:
        got = mremap(p, SIZE, SIZE / 2, 0);
        break;
    case 2:
        got = mremap(p, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
        break;
    case 3:
        got = mremap(p, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, room);
        break;
    case 4:
        got = mremap(p + 1, SIZE, SIZE, MREMAP_MAYMOVE);
        break;
    case 5:
        got = mremap(p, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, p + SIZE / 2);
        break;
    default:
        munmap(room, PART), got = mremap(room, PAGE, PART, MREMAP_MAYMOVE | MREMAP_FIXED, p);
    }
    printf("%s", told(got == MAP_FAILED ? -1 : 0));
    if (got != MAP_FAILED) printf(": wrong %d", wrong(got, 0, number == 1 ? SIZE / 2 : SIZE));
    printf(", old %d\n", got == p ? 0 : at(p + PAGE));
}

/* A mapping that is refused leaves what is there. */
static void map_over(long number) {
    int file = number == 0 ? -1 : open(number == 1 ? "/proc/self/exe" : "/", O_RDONLY);

    all_there("refused", mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED ? -1 : 0);
    all_there("unaligned", munmap(p, 0));
    all_there("over the end", munmap(p, -PAGE));
    all_there("beyond all", munmap(p, (1ul << 60)));
    printf("%s, ",
           told(mmap(p, PART, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : 0));
    printf("in %d, wrong %d\n", at(p), wrong(p, PART, SIZE));
}

static void protect(long number) {
    (void)number;
    int key = pkey_alloc(0, 0);

    all_there("mprotect", mprotect(p + PART, PART, PROT_READ));
    printf("write %d\n", put(p + PART, 1));
    all_there("mprotect", mprotect(p + PART, PART, PROT_READ | PROT_WRITE));
    all_there("pkey_mprotect", pkey_mprotect(p, PART, PROT_READ | PROT_WRITE, key));
    all_there("no key", pkey_mprotect(p, PART, PROT_READ, 15));
    all_there("remap_file_pages", remap_file_pages(p, PART, 0, 0, 0));
    for (int flags = 0; flags < 8; flags++) all_there("msync", msync(p, SIZE, flags));
    all_there("mbind", syscall(SYS_mbind, p, SIZE, 2, &(unsigned long){1}, 64, 2));
    printf("node %s\n", told(syscall(SYS_get_mempolicy, &key, NULL, 0, p + SIZE / 2, 3)));
    all_there("name", prctl(0x53564d41, 0, p, SIZE, "mine"));
}

static void frames(long number) {
    static void *places[PAGES];
    static int states[PAGES];
    int count = 0;

    for (size_t page = 0; page < PAGES; page++) places[page] = p + page * PAGE;
    if (number == 0) printf("resident %d\n", resident(p));
    if (number == 1) {
        printf("%s, ", told(syscall(SYS_move_pages, 0, PAGES, places, NULL, states, 0)));
        for (size_t page = 0; page < PAGES; page++) count += states[page] == 0;
        printf("there %d\n", count);
    }
    if (number == 2) {
        uint64_t entry;
        int file = open("/proc/self/pagemap", O_RDONLY);

        for (size_t page = 0; page < PAGES; page++)
            if (pread(file, &entry, 8, ((uintptr_t)p / PAGE + page) * 8) == 8) count += entry >> 62 != 0;
        printf("there %d\n", count);
    }
    all_there("memory", 0);
}

/* ---- sizes ---- */

static void reallocs(long number) {
    (void)number;
    char *block = fill(malloc(SIZE));

    for (size_t size = SIZE / 2; size >= 200000; size /= 2) {
        block = realloc(block, size);
        printf("%zu: usable %d, wrong %d\n", size, malloc_usable_size(block) <= size + HUGE,
               wrong(block, 0, size & -PAGE));
    }
    block = realloc(block, SIZE);
    printf("first %d\n", at(block));
    block = realloc(block, 100);
    printf("first %d\n", at(block));
    free(block);
}

static void far_too_much(long number) {
    (void)number;
    for (int power = 40; power < 64; power++) {
        char *block = malloc(1ul << power);

        printf("%d: %s\n", power, told(block ? 0 : -1));
        free(block);
        block = mmap(NULL, 1ul << power, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        printf("%d: %s\n", power, told(block == MAP_FAILED ? -1 : 0));
        munmap(block, 1ul << power);
    }
}

static void beyond_limit(long kind) {
    struct rlimit limit = {2 * SIZE, 2 * SIZE};

    setrlimit(kind, &limit);
    errno = 0;
    printf("%s\n", told(malloc(16 * SIZE) ? 0 : -1));
    printf("%s\n", told(fresh(16 * SIZE) == MAP_FAILED ? -1 : 0));
    all_there("memory", 0);
}

/* ---- other ways to the bytes ---- */

static void proc_mem(long number) {
    (void)number;
    int file = open("/proc/self/mem", O_RDWR), count = 0;
    unsigned char got[2 * PAGE];
    struct iovec here = {got, sizeof(got)};

    for (size_t from = 0; from + 2 * PAGE <= SIZE; from += PART) {
        count += pread(file, got, sizeof(got), (off_t)(uintptr_t)(p + from)) != sizeof(got) ||
                 got[PAGE] != byte(from / PAGE + 1);
        count +=
            preadv(file, &here, 1, (off_t)(uintptr_t)(p + from)) != sizeof(got) || got[PAGE] != byte(from / PAGE + 1);
        count += lseek(file, (off_t)(uintptr_t)(p + from), SEEK_SET) < 0 || read(file, got, 9) != 9 ||
                 got[0] != byte(from / PAGE);
        got[0] = 0x5a;
        count += pwrite(file, got, 1, (off_t)(uintptr_t)(p + from + 2 * PAGE)) != 1 || at(p + from + 2 * PAGE) != 0x5a;
        count += lseek(file, (off_t)(uintptr_t)(p + from + 3 * PAGE), SEEK_SET) < 0 || write(file, got, 1) != 1;
        count += at(p + from + 3 * PAGE) != 0x5a;
    }
    printf("wrong %d; nothing there: %s\n", count, told(pread(file, got, 1, 64)));
}

static void trace(long number) {
    (void)number;
    int go[2], status;
    pid_t tracer, self = getpid();

    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    if (pipe(go) != 0) return;
    fflush(stdout);
    if ((tracer = fork()) == 0) {
        int count = 0;

        if (read(go[0], &(char){0}, 1) != 1 || ptrace(PTRACE_ATTACH, self, 0, 0) != 0) _exit(200);
        waitpid(self, NULL, __WALL);
        for (size_t from = 0; from < SIZE; from += PART) {
            errno = 0;
            count += (ptrace(PTRACE_PEEKDATA, self, p + from, 0) & 255) != byte(from / PAGE) || errno;
            count += ptrace(PTRACE_POKEDATA, self, p + from + PAGE, byte(from / PAGE + 1) * 0x0101010101010101) != 0;
        }
        ptrace(PTRACE_DETACH, self, 0, 0);
        _exit(count);
    }
    status = write(go[1], "x", 1);
    while (waitpid(tracer, &status, 0) < 0);
    all_there(status ? "the tracer failed" : "traced", 0);
}

static void in_and_out(long number) {
    (void)number;
    int ends[2], zero = open("/dev/zero", O_RDONLY), count = 0;
    unsigned char got[64];
    struct iovec here = {got, sizeof(got)};

    if (pipe(ends) != 0) return;
    for (size_t from = 0; from < SIZE; from += PART) {
        count += write(ends[1], p + from, 64) != 64 || read(ends[0], got, 64) != 64 || got[0] != byte(from / PAGE);
        struct iovec there = {p + from + PAGE, sizeof(got)};
        count += process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 64 || got[0] != byte(from / PAGE + 1);
        count += read(zero, p + from + 2 * PAGE, 64) != 64 || at(p + from + 2 * PAGE) != 0;
        count += syscall(SYS_clock_gettime, 0, p + from + 3 * PAGE) != 0;
    }
    printf("wrong %d\n", count);
}

/* ---- ways that pass few functions, and places of their own kind ---- */

/* All of a mapping that has room around it: what lies beside does not matter. */
static void advice_of_all(long number) {
    (void)number;
    for (int advice = 0; advice <= 30; advice++) {
        char *room = mmap(NULL, 3 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        char *all = (char *)(((uintptr_t)room + SIZE) / HUGE * HUGE);
        int kept = 0, zero = 0, result;

        mmap(all, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        for (size_t page = 0; page < PAGES; page++) all[page * PAGE] = (char)byte(page);
        errno = 0;
        result = madvise(all, SIZE, advice);
        printf("%d: %s, ", advice, told_of(advice, result));
        for (size_t page = 0; page < PAGES; page++) {
            kept += at(all + page * PAGE) == byte(page);
            zero += at(all + page * PAGE) == 0;
        }
        printf("kept %d, zero %d, put %d\n", kept, zero, put(all + PART, 7));
        munmap(room, 3 * SIZE);
    }
}

static void ring(long advice) {
    struct io_uring_params about = {0};
    int file = (int)syscall(SYS_io_uring_setup, 4, &about), status = 0;

    if (file < 0) {
        puts("no ring");
        return;
    }
    char *queue = mmap(0, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entry = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, IORING_OFF_SQES);

    *entry = (struct io_uring_sqe){.opcode = IORING_OP_MADVISE, .addr = (uintptr_t)p, .len = SIZE};
    entry->fadvise_advice = (unsigned)advice;
    ((unsigned *)(queue + about.sq_off.array))[0] = 0;
    __atomic_store_n((unsigned *)(queue + about.sq_off.tail), 1, __ATOMIC_RELEASE);
    syscall(SYS_io_uring_enter, file, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    printf("%d, ", ((struct io_uring_cqe *)(queue + about.cq_off.cqes))[0].res);
    pid_t child = fork();
    if (child == 0) _exit(at(p + PART) < 0 ? 100 : at(p + PART));
    waitpid(child, &status, 0);
    printf("here %d, in a child %d\n", at(p + PART), WEXITSTATUS(status));
}

static void segment(long number) {
    (void)number;
    int id = shmget(IPC_PRIVATE, SIZE / 2, 0600 | IPC_CREAT);
    char *shared = shmat(id, p, SHM_REMAP);

    shmctl(id, IPC_RMID, NULL);
    printf("there %d, %d beside, ", shared == p, at(p + SIZE / 2));
    memset(shared, 7, SIZE / 2);
    pid_t child = fork();
    if (child == 0) {
        shared[100] = 55;
        _exit(0);
    }
    waitpid(child, NULL, 0);
    printf("a child's write %d, ", at(shared + 100));
    madvise(shared, SIZE / 2, MADV_DONTNEED);
    printf("given up %d\n", at(shared + 5));
}

static void places(long number) {
    (void)number;
    const int usual = MAP_PRIVATE | MAP_ANONYMOUS, access = PROT_READ | PROT_WRITE;
    char *low = mmap(NULL, SIZE, access, usual | MAP_32BIT, -1, 0);
    char *grows = mmap(NULL, SIZE, access, usual | MAP_GROWSDOWN, -1, 0);

    printf("low %d, ", (uintptr_t)low + SIZE <= 1ul << 31);
    printf("below %d, %d, ", put(grows - 17, 5), at(grows - 17));
    printf("odd offset: %s\n", told(mmap(NULL, SIZE, access, usual, -1, 5) == MAP_FAILED ? -1 : 0));
}

#include "kernel_writes.h"

static void *own_and_end(void *mutex) {
    pthread_mutex_lock(mutex);
    /* Time for its page to leave. */
    for (int round = 0; round < 2; round++) fill(fresh(4 * SIZE));
    return NULL;
}

static void robust(long number) {
    pthread_mutex_t *mutex = (void *)(p + 100 * PAGE);
    pthread_mutexattr_t robust;
    pthread_attr_t placed;
    pthread_t owner;

    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(mutex, &robust);
    pthread_attr_init(&placed);
    if (number) pthread_attr_setstack(&placed, p + SIZE / 2, SIZE / 4);
    pthread_create(&owner, &placed, own_and_end, mutex);
    pthread_join(owner, NULL);
    printf("%s\n", strerror(pthread_mutex_lock(mutex)));
}

static void stream(long number) {
    (void)number;
    FILE *file = fopen("/proc/self/mem", "r+");
    unsigned char got[32];
    int count = 0;

    for (size_t from = 0; from < SIZE; from += PART) {
        fseeko(file, (off_t)(uintptr_t)(p + from), SEEK_SET);
        count += fread(got, 1, sizeof(got), file) != sizeof(got) || got[0] != byte(from / PAGE);
    }
    printf("wrong %d\n", count);
}

static const struct {
    const char *name;
    void (*show)(long);
    long number;
} calls[] = {
    {"whole mapping: madvise 0 to 30", advice_of_all, 0},
    {"process_madvise", advice_of_process, 0},
    {"IORING_OP_MADVISE DONTNEED", ring, MADV_DONTNEED},
    {"IORING_OP_MADVISE WIPEONFORK", ring, 18},
    {"IORING_OP_MADVISE DONTFORK", ring, MADV_DONTFORK},
    {"shmat SHM_REMAP", segment, 0},
    {"madvise COLLAPSE after mprotect", collapse_after_protect, 0},
    {"vmsplice", vmsplice_copies, 0},
    {"vmsplice GIFT", vmsplice_gift, 0},
    {"vmsplice of bad addresses", bad_vectors, 0},
    {"send MSG_ZEROCOPY", zero_copy, 0},
    {"sendto MSG_ZEROCOPY", zero_copy, 1},
    {"sendmsg MSG_ZEROCOPY", zero_copy, 2},
    {"sendmmsg MSG_ZEROCOPY", zero_copy, 3},
    {"syscall(SYS_sendto) MSG_ZEROCOPY", zero_copy, 4},
    {"ioctl UFFDIO_REGISTER", own_faults, 0},
    {"ioctl UFFDIO_COPY into untouched memory", copy_into_untouched, 0},
    {"ioctl UFFDIO_MOVE out of memory", move_away, 0},
    {"clone with CLONE_PARENT_SETTID into memory", number_of_child, 0},
    {"robust mutex whose owner ends", robust, 0},
    {"robust mutex, owner on a stack of pthread_attr_setstack", robust, 1},
    {"mmap MAP_32BIT, MAP_GROWSDOWN, at an odd offset", places, 0},
    {"mlock, mlock2, munlock, munlockall", lock, 0},
    {"mlock beyond RLIMIT_MEMLOCK", lock_beyond_limit, 0},
    {"mlockall CURRENT", lock_all, MCL_CURRENT},
    {"mlockall FUTURE", lock_all, MCL_FUTURE},
    {"mlockall CURRENT FUTURE ONFAULT", lock_all, MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT},
    {"mseal", seal, 0},
    {"mremap to more", remap, 0},
    {"mremap to less", remap, 1},
    {"mremap DONTUNMAP", remap, 2},
    {"mremap FIXED", remap, 3},
    {"mremap unaligned", remap, 4},
    {"mremap FIXED over itself", remap, 5},
    {"mremap FIXED of nothing", remap, 6},
    {"mmap FIXED of no file", map_over, 0},
    {"mmap FIXED of a file that cannot be written", map_over, 1},
    {"mmap FIXED of a folder", map_over, 2},
    {"mprotect, pkey_mprotect, remap_file_pages, msync, mbind, prctl", protect, 0},
    {"mincore", frames, 0},
    {"move_pages", frames, 1},
    {"/proc/self/pagemap", frames, 2},
    {"realloc", reallocs, 0},
    {"malloc and mmap of 1 TiB and more", far_too_much, 0},
    {"malloc and mmap beyond RLIMIT_AS", beyond_limit, RLIMIT_AS},
    {"malloc and mmap beyond RLIMIT_DATA", beyond_limit, RLIMIT_DATA},
    {"/proc/self/mem", proc_mem, 0},
    {"/proc/self/mem by a stream", stream, 0},
    {"ptrace PEEKDATA, POKEDATA", trace, 0},
    {"read, write, process_vm_readv, clock_gettime", in_and_out, 0},
};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

int main(int count, char **words) {
    long number;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (count == 2)
        for (int i = 0; i < CALLS; i++) puts(calls[i].name);
    if (count != 3) return 0;
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    take_signals(words[2]);
    alarm(40);
    is_heap = !strcmp(words[1], "heap");
    p = fill(fresh(SIZE));
    if (sscanf(words[2], "madvise %ld", &number) == 1 && !strstr(words[2], "after")) return advice(number), 0;
    for (int i = 0; i < CALLS; i++)
        if (!strcmp(words[2], calls[i].name)) return calls[i].show(calls[i].number), 0;
    return 2;
}
