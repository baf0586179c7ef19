// What a program does with descriptors, children and threads. Its output is that of a run without the pager.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 8 << 20, STACK = 1 << 20 };

static unsigned char *memory;

static int wrong(void) {
    int pages = 0;
    for (size_t i = 0; i < SIZE; i += 4096) pages += memory[i] != (unsigned char)(1 + i / 4096 % 251);
    return pages;
}

static int body(void *unused) {
    (void)unused;
    return wrong() ? 1 : 42;
}

static int status_of(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child) return -errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static long resident_kib(void) {
    char line[128];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (kib < 0 && fgets(line, sizeof line, status)) sscanf(line, "VmRSS: %ld", &kib);
    fclose(status);
    return kib;
}

static int forked(int is_daemon) {
    pid_t child = fork();
    for (int i = 0; !child && is_daemon && i < 1024; i++) close(i);
    if (!child) _exit(body(0));
    return status_of(child);
}

// Memory at a place of the program's choice within a reservation, with the advice that QEMU gives: paged, and no child has it.
static int placed(void) {
    enum { PLACE_BYTES = 16 << 20 };
    unsigned char *room = mmap(NULL, 2 * PLACE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long before = resident_kib();
    int wrong_bytes = 0;
    for (int round = 1; round < 4; round++) {
        unsigned char *place =
            mmap(room + 4096, PLACE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (place != room + 4096) return -1;
        if (madvise(place, PLACE_BYTES, MADV_MERGEABLE) && errno != EINVAL) return -2;
        if (madvise(place, PLACE_BYTES, MADV_DONTFORK)) return -3;
        for (size_t i = 0; i < PLACE_BYTES; i += 4096) {
            wrong_bytes += place[i] != 0;
            memset(place + i, round + (int)(i / 4096 % 100), 4096);
        }
        pid_t child = fork();
        if (!child) {
            // Nothing is there, and what is put there is the child's.
            int is_there = !msync(place, PLACE_BYTES, MS_ASYNC) || errno != ENOMEM;
            unsigned char *own =
                mmap(room, PLACE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
            for (size_t i = 0; i < PLACE_BYTES; i += 4096) own[i] = (unsigned char)(i / 4096);
            for (size_t i = 0; i < PLACE_BYTES; i += 4096) is_there += own[i] != (unsigned char)(i / 4096);
            _exit(is_there);
        }
        if (status_of(child)) return -4;
        for (size_t i = 0; i < PLACE_BYTES; i++)
            wrong_bytes += place[i] != (unsigned char)(round + (int)(i / 4096 % 100));
    }
    fprintf(stderr, "placed: %ld KiB more in frames\n", resident_kib() - before);
    // From here on a child has it, and it may be cut and moved.
    if (madvise(room + 4096, PLACE_BYTES, MADV_DOFORK)) return -5;
    pid_t child = fork();
    if (!child) _exit(room[4096] != 3 || room[PLACE_BYTES] != (unsigned char)(3 + (PLACE_BYTES / 4096 - 1) % 100));
    if (status_of(child)) return -6;
    if (munmap(room, PLACE_BYTES / 2)) return -7;
    wrong_bytes += room[PLACE_BYTES / 2] != (unsigned char)(3 + (PLACE_BYTES / 2 / 4096 - 1) % 100);
    munmap(room, 2 * PLACE_BYTES);
    return wrong_bytes;
}

// A child that locks its memory, which no pager has then; its parent's pager goes on.
static int locked_child(void) {
    pid_t child = fork();
    if (!child) _exit(mlockall(MCL_CURRENT | MCL_FUTURE) ? 1 : body(0));
    return status_of(child);
}

static int filter(int flags) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (flags) return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static void *last(void *unused) {
    usleep(50000);
    printf("the last thread: %d\n", wrong());
    return unused;
}

// Past the C library.
static long close_by_instruction(void) {
#ifdef __x86_64__
    long answer = SYS_close_range;
    register long flags __asm__("rdx") = 0;
    __asm__ volatile("syscall" : "+a"(answer) : "D"(3L), "S"((long)~0U), "r"(flags) : "rcx", "r11", "memory");
    return answer;
#else
    register long number __asm__("x8") = SYS_close_range, first __asm__("x0") = 3, last __asm__("x1") = ~0U;
    register long flags __asm__("x2") = 0;
    __asm__ volatile("svc 0" : "+r"(first) : "r"(number), "r"(last), "r"(flags) : "memory");
    return first;
#endif
}

int main(int count, char **words) {
    const char *form = count > 1 ? words[1] : "";
    int answer = 0, child = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    memory = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i += 4096) memory[i] = (unsigned char)(1 + i / 4096 % 251);
    if (!strcmp(form, "close"))
        for (int i = 3; i < 1024; i++) answer += close(i) == 0;
    if (!strcmp(form, "close_range")) answer = close_range(3, ~0U, 0);
    if (!strcmp(form, "closefrom")) closefrom(3);
    if (!strcmp(form, "dup2"))
        for (int i = 3; i < 64; i++)
            answer += dup2(STDIN_FILENO, i) == i && lseek(i, 0, SEEK_CUR) == lseek(STDIN_FILENO, 0, SEEK_CUR);
    if (!strcmp(form, "instruction")) {
        answer = (int)close_by_instruction();
        printf("closed: %d, wrong %d\n", answer, wrong());
        return 7;
    }
    if (!strcmp(form, "reserve")) {
        long before = resident_kib();
        void *reserved =
            mmap(NULL, 64UL << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        answer = reserved != MAP_FAILED && resident_kib() - before < 8192;
        munmap(reserved, 64UL << 30);
    }
    if (!strcmp(form, "placed")) answer = placed();
    if (!strcmp(form, "few_descriptors")) answer = setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3});
    if (!strcmp(form, "child_locks")) answer = locked_child();
    if (!strcmp(form, "asks_for_filters"))
        answer = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) +
                 prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL);
    if (!strcmp(form, "user")) answer = setgid(65534) || setuid(65534);
    if (!strcmp(form, "filter")) answer = filter(0);
    if (!strcmp(form, "filter_all")) answer = filter(SECCOMP_FILTER_FLAG_TSYNC);
    if (!strcmp(form, "namespace")) answer = unshare(CLONE_NEWUSER);
    if (!strcmp(form, "last_thread")) {
        pthread_t thread;
        pthread_create(&thread, NULL, last, NULL);
        pthread_exit(NULL);
    }
    if (!strncmp(form, "clone", 5) && strncmp(form, "close", 5)) {
        unsigned char *stack = !strcmp(form, "clone") ? mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)
                                                      : malloc(STACK);
        child = status_of(clone(body, stack + STACK, SIGCHLD, NULL));
    } else {
        child = forked(!strcmp(form, "daemon"));
    }
    printf("%s: %d, child %d, wrong %d\n", form, answer, child, wrong());
    memory = realloc(memory, 2 * SIZE);
    printf("%d\n", memory ? wrong() : -1);
    return 7;
}
