/*
 * Threads that allocate, free what others allocated, fork while all the rest go
 * on, and start this program again. Exit code 0: nothing was lost.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 4000, PLACES = 256, FORKS = 60 };

/* Blocks change hands here. The first word of a block is its length. */
static _Atomic(size_t *) place[PLACES];
static atomic_int failures, running = THREADS;
static char **arguments;

static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t *make(uint64_t random) {
    size_t bytes = 16 + (random % 8 ? random % 700 : random % 300000);
    size_t *block = random & 1 << 20 ? malloc(bytes) : aligned_alloc(64, bytes);

    if (!block) return NULL;
    memset(block, (int)(bytes % 255), bytes);
    block[0] = bytes;
    return block;
}

static int is_whole(const size_t *block) {
    const unsigned char *bytes = (const unsigned char *)block;

    for (size_t i = sizeof(size_t); i < block[0]; i++)
        if (bytes[i] != (unsigned char)(block[0] % 255)) return 0;
    return 1;
}

static void work(uint64_t seed, int rounds) {
    for (int i = 0; i < rounds; i++) {
        uint64_t random = next(&seed);
        size_t *block = make(random >> 8), *other;

        if (!block) {
            failures++;
            continue;
        }
        other = atomic_exchange(&place[random % PLACES], block);
        if (other && !is_whole(other)) failures++;
        free(other);
    }
}

/* Threads that come and go, as well as those that stay. */
static void *short_lived(void *seed) {
    work((uint64_t)(uintptr_t)seed, 100);
    return NULL;
}

static void *long_lived(void *number) {
    uint64_t seed = 88172645463325252ULL + (uintptr_t)number;

    for (int i = 0; i < 20; i++) {
        pthread_t thread;

        work(next(&seed), ROUNDS / 20);
        if (pthread_create(&thread, NULL, short_lived, (void *)(uintptr_t)next(&seed)))
            failures++;
        else
            pthread_join(thread, NULL);
    }
    running--;
    return NULL;
}

/* The child has all blocks as they were, and can go on allocating, in threads too. */
static void in_child(int n) {
    pthread_t thread;

    alarm(60);
    failures = 0;
    for (int i = 0; i < PLACES; i++) {
        size_t *block = atomic_load(&place[i]);

        if (block && !is_whole(block)) _exit(10);
    }
    work(n + 1, 500);
    if (pthread_create(&thread, NULL, short_lived, (void *)7L) || pthread_join(thread, NULL)) _exit(11);
    if (n % 10 == 0) {
        execl(arguments[0], arguments[0], "again", (char *)NULL);
        _exit(12);
    }
    if (n % 10 == 1) {
        pid_t grandchild = fork();
        int status;

        if (grandchild == 0) {
            work(n + 2, 100);
            _exit(failures ? 13 : 0);
        }
        if (waitpid(grandchild, &status, 0) != grandchild || status) _exit(14);
    }
    _exit(failures ? 15 : 0);
}

int main(int count, char **given) {
    pthread_t thread[THREADS];

    arguments = given;
    if (count > 1) {
        work(5, 2000);
        return failures ? 20 : 0;
    }
    alarm(120);
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, long_lived, (void *)i)) return 1;
    for (int n = 0; n < FORKS || running; n++) {
        int status;
        pid_t child = fork();

        if (child == 0) in_child(n);
        if (child < 0 || waitpid(child, &status, 0) != child || status) {
            fprintf(stderr, "fork %d: status %x\n", n, status);
            return 2;
        }
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    return failures ? 3 : 0;
}
