// What programs rely on: each exit code is a promise of the C library or the kernel.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 8 << 20 };

static unsigned char value(size_t at, int by) { return (unsigned char)(at / 4096 * 3 + (size_t)by); }

static void fill(unsigned char *memory, size_t bytes, int by) {
    for (size_t i = 0; i < bytes; i += 64) memory[i] = value(i, by);
}

static int holds(const unsigned char *memory, size_t bytes, int by) {
    for (size_t i = 0; i < bytes; i += 64)
        if (memory[i] != value(i, by)) return 0;
    return 1;
}

static int is_zero(const unsigned char *memory, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if (memory[i]) return 0;
    return 1;
}

static int failed(pid_t child) {
    int status;
    return waitpid(child, &status, 0) != child || status;
}

static unsigned char *map(void *where, size_t bytes, int flags) {
    return mmap(where, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static unsigned char *shared;
static volatile sig_atomic_t signals, wrong;

static void on_signal(int number) {
    (void)number;
    size_t at = 4096 * (size_t)(++signals % 1000);
    if (shared[at] != value(at, 1)) wrong++;
}

static void *work(void *by) {
    for (int round = 0; round < 2; round++) {
        unsigned char *memory = malloc(SIZE);
        fill(memory, SIZE, (int)(size_t)by);
        if (!holds(memory, SIZE, (int)(size_t)by)) return "wrong";
        free(memory);
    }
    return NULL;
}

static int heap(void) {
    unsigned char *memory = calloc(1, SIZE);
    if (!memory || !is_zero(memory, SIZE)) return 1;
    fill(memory, SIZE, 1);
    if (!holds(memory, SIZE, 1) || malloc_usable_size(memory) < SIZE) return 2;
    memory = realloc(memory, 2 * SIZE);
    if (!memory || !holds(memory, SIZE, 1)) return 3;
    pid_t child = fork();
    if (child == 0) {
        if (!holds(memory, SIZE, 1)) _exit(1);
        fill(memory, SIZE, 9);
        _exit(holds(memory, SIZE, 9) ? 0 : 2);
    }
    fill(memory, SIZE, 5);
    if (failed(child) || !holds(memory, SIZE, 5)) return 4;
    child = (pid_t)syscall(SYS_fork); /* past the C library */
    if (child == 0) _exit(holds(memory, SIZE, 5) ? 0 : 2);
    if (failed(child)) return 5;
    child = fork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(3);
    }
    if (failed(child)) return 6;
    int file = open("/proc/self/exe", O_RDONLY);
    if (read(file, memory + 12345, 8000) != 8000 || memcmp(memory + 12345, "\177ELF", 4)) return 7;
    close(file);
    free(memory);
    return 0;
}

static int mappings(void) {
    const size_t half = SIZE / 2, part = 40960;
    unsigned char *memory = map(NULL, SIZE, 0);
    fill(memory, SIZE, 2);
    if (madvise(memory + 4096, half, MADV_DONTNEED) || !is_zero(memory + 4096, half)) return 11;
    if (memory[SIZE - 64] != value(SIZE - 64, 2)) return 12;
    fill(memory, SIZE, 2);
    if (munmap(memory + half, part)) return 13;
    unsigned char *other = map(memory + half, part, MAP_FIXED);
    if (other != memory + half || !is_zero(other, part)) return 14;
    memset(other, 7, part);
    pid_t child = fork();
    if (child == 0) _exit(other[4097] == 7 && holds(memory, half, 2) ? 0 : 1);
    if (failed(child) || !holds(memory, half, 2)) return 15;
    if (mprotect(memory, 65536, PROT_READ) || !holds(memory, 65536, 2)) return 16;
    int ends[2];
    if (pipe(ends) || write(ends[1], "abc", 3) != 3) return 17;
    if (read(ends[0], memory, 3) != -1 || errno != EFAULT) return 18;
    if (mprotect(memory, 65536, PROT_READ | PROT_WRITE)) return 19;
    memory[1] = 3;
    unsigned char *moved = mremap(memory, half, SIZE, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED || !holds(moved, half, 2) || moved[1] != 3) return 20;
    if (!is_zero(moved + half, half) || munmap(moved, SIZE)) return 21;
    return 0;
}

static int threads(void) {
    shared = malloc(SIZE);
    fill(shared, SIZE, 1);
    signal(SIGALRM, on_signal);
    struct itimerval timer = {{0, 2000}, {0, 2000}};
    setitimer(ITIMER_REAL, &timer, NULL);
    pthread_t running[3];
    for (size_t i = 0; i < 3; i++) pthread_create(&running[i], NULL, work, (void *)(i * 7 + 1));
    for (int i = 0; i < 3; i++) {
        void *answer;
        pthread_join(running[i], &answer);
        if (answer) return 31;
    }
    signal(SIGALRM, SIG_IGN);
    if (wrong || !holds(shared, SIZE, 1)) return 32;
    free(shared);
    return 0;
}

int main(void) {
    int code = heap();
    if (!code) code = mappings();
    if (!code) code = threads();
    return code;
}
