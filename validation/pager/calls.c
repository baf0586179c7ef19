/* CPU time of a call on memory in ns, least of seven rounds: by the C library, by an instruction, and of one that means nothing to
 * the pager. What they are about was not made by the pager.
 *
 *     cc -O2 -o calls validation/pager/calls.c && ./calls && pagemill pager run --memory 16MiB --to compressed -- ./calls */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 20000, ROUNDS = 7, BYTES = 4096 };

static long by_instruction(long number, long a, long b, long c) {
    long answer;
    __asm__ volatile("syscall" : "=a"(answer) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return answer;
}
static char *memory;
static void function(void) { madvise(memory, BYTES, MADV_NORMAL); }
static void instruction(void) { by_instruction(SYS_madvise, (long)memory, BYTES, MADV_NORMAL); }
static void other_function(void) { getppid(); }
static void other_instruction(void) { by_instruction(SYS_getppid, 0, 0, 0); }

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

int main(void) {
    static const struct {
        const char *name;
        void (*call)(void);
    } WAYS[] = {{"madvise, function", function},
                {"madvise, instruction", instruction},
                {"getppid, function", other_function},
                {"getppid, instruction", other_instruction}};
    memory = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned way = 0; way < sizeof WAYS / sizeof *WAYS; way++) {
        double least = 1e30;
        for (int round = 0; round < ROUNDS; round++) {
            double begun = now_ns();
            for (int call = 0; call < CALLS; call++) WAYS[way].call();
            double each = (now_ns() - begun) / CALLS;
            if (each < least) least = each;
        }
        printf("%-22s %8.0f ns\n", WAYS[way].name, least);
    }
    return 0;
}
