// Programs whose time is predicted from their page traces: prediction sort|table|stencil
// Prints a checksum and, to standard error, its own elapsed nanoseconds.

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static void *memory(size_t bytes) {
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static uint64_t chance(uint64_t *state) {
    *state = *state * 6364136223846793005 + 1442695040888963407;
    return *state >> 24;
}

// Merge sort of 2^21 numbers, bottom up.
static uint64_t sort(void) {
    enum { COUNT = 1 << 21 };
    uint64_t *from = memory(COUNT * 8), *to = memory(COUNT * 8), state = 1;
    for (long i = 0; i < COUNT; i++) from[i] = chance(&state) % 1000000;
    for (long run = 1; run < COUNT; run *= 2) {
        for (long start = 0; start < COUNT; start += 2 * run) {
            long a = start, b = start + run, middle = b, end = b + run;
            for (long i = start; i < end; i++)
                to[i] = a < middle && (b >= end || from[a] <= from[b]) ? from[a++] : from[b++];
        }
        uint64_t *swap = from;
        from = to, to = swap;
    }
    uint64_t sum = 0;
    for (long i = 0; i < COUNT; i++) sum = sum * 31 + from[i];
    return sum;
}

// A hash table of 32 MiB: 60000 keys, and as many look-ups.
static uint64_t table(void) {
    enum { SLOTS = 1 << 21 };
    struct slot {
        uint64_t key, value;
    } *slots = memory(SLOTS * sizeof *slots);
    uint64_t state = 1, sum = 0;
    for (long i = 0; i < 120000; i++) {
        if (i == 60000) state = 1;
        uint64_t key = chance(&state) | 1, at = key * 11400714819323198485u >> 43;
        while (slots[at].key && slots[at].key != key) at = (at + 1) % SLOTS;
        if (i < 60000)
            slots[at] = (struct slot){key, i};
        else
            sum += slots[at].value * key;
    }
    return sum;
}

// Five sweeps over a square of 1536 x 1536 numbers.
static uint64_t stencil(void) {
    enum { SIDE = 1536 };
    double *from = memory(SIDE * SIDE * 8), *to = memory(SIDE * SIDE * 8);
    for (long i = 0; i < SIDE * SIDE; i++) from[i] = to[i] = i % 101;
    for (int sweep = 0; sweep < 5; sweep++) {
        for (long y = 1; y < SIDE - 1; y++)
            for (long x = 1; x < SIDE - 1; x++) {
                double *at = from + y * SIDE + x;
                to[y * SIDE + x] = (at[0] * 4 + at[-1] + at[1] + at[-SIDE] + at[SIDE]) / 8;
            }
        double *swap = from;
        from = to, to = swap;
    }
    uint64_t sum = 0, bits;
    for (long i = 0; i < SIDE * SIDE; i++) memcpy(&bits, from + i, 8), sum = sum * 31 + bits;
    return sum;
}

int main(int count, char **arguments) {
    struct timespec begin, end;
    const char *name = count > 1 ? arguments[1] : "";
    clock_gettime(CLOCK_MONOTONIC, &begin);
    uint64_t sum = !strcmp(name, "sort") ? sort() : !strcmp(name, "table") ? table() : stencil();
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%lu\n", sum);
    fprintf(stderr, "elapsed_ns %ld\n", (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec);
    return 0;
}
