/*
 * Four threads allocate, write, compare and free blocks of all sizes, with forks in between.
 * Exit code 0 if every block kept its bytes and calloc gave zeroes.
 *
 * usage: allocations STEPS
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, BLOCKS = 24 };

static long steps;

struct block {
    unsigned char *memory;
    size_t bytes;
    unsigned char value;
};

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    _exit(1);
}

/* Large blocks are written and compared here and there. */
static void fill(struct block *block) {
    size_t stride = block->bytes > 65536 ? 4093 : 61;

    for (size_t i = 0; i < block->bytes; i += stride) block->memory[i] = block->value;
}

static void compare(const struct block *block, size_t bytes) {
    size_t stride = block->bytes > 65536 ? 4093 : 61;

    for (size_t i = 0; i < bytes && i < block->bytes; i += stride)
        if (block->memory[i] != block->value) fail("a byte is wrong");
}

static void make(struct block *block, uint64_t random) {
    size_t bytes = (random >> 8) % ((random & 15) == 0 ? 3 << 20 : (random & 15) < 4 ? 300000 : 2000);
    void *memory = NULL;

    switch (random >> 40 & 3) {
    case 0:
        memory = calloc(1, bytes);
        for (size_t i = 0; memory && i < bytes; i += 31)
            if (((unsigned char *)memory)[i]) fail("calloc gave a byte that is not zero");
        break;
    case 1:
        if (posix_memalign(&memory, 4096, bytes)) fail("posix_memalign");
        break;
    default:
        memory = malloc(bytes);
    }
    if (bytes && (!memory || malloc_usable_size(memory) < bytes)) fail("no memory");
    block->memory = memory;
    block->bytes = bytes;
    block->value = random >> 48 | 1;
    fill(block);
}

static void *work(void *argument) {
    struct block blocks[BLOCKS] = {0};
    uint64_t random = (uintptr_t)argument * 0x9e3779b97f4a7c15u + 1;

    for (long step = 0; step < steps; step++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        struct block *block = &blocks[random % BLOCKS];
        size_t old = block->bytes;

        compare(block, old);
        if ((random >> 32 & 7) == 0 && block->memory) {
            block->bytes = 1 + (random >> 8) % 500000;
            block->memory = realloc(block->memory, block->bytes);
            /* The strides of sizes differ. */
            if (!block->memory || (old && block->memory[0] != block->value)) fail("realloc lost a byte");
            fill(block);
            continue;
        }
        free(block->memory);
        make(block, random);
        if (step % 4096 == 4095 && argument == NULL) {
            int status;
            pid_t child = fork();

            if (child == 0) {
                for (int i = 0; i < BLOCKS; i++) {
                    compare(&blocks[i], blocks[i].bytes);
                    free(blocks[i].memory);
                }
                _exit(0);
            }
            if (waitpid(child, &status, 0) != child || status) fail("a child ended wrongly");
        }
    }
    for (int i = 0; i < BLOCKS; i++) free(blocks[i].memory);
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t threads[THREADS];

    steps = count > 1 ? atol(arguments[1]) : 1000;
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return 0;
}
