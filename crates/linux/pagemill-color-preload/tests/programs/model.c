/*
 * Carries out calls that it reads from standard input, one a line, and holds
 * each block against what is known of it. Exit code 0: all as promised.
 *
 *   SLOT FUNCTION BYTES ALIGNMENT
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 64 };

static struct {
    unsigned char *at;
    size_t bytes; /* asked for */
    size_t usable;
    unsigned char fill;
} slot[SLOTS];

static unsigned line;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %u: not so: %s\n", line, #condition);                                                \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static int is_filled(const unsigned char *at, size_t bytes, unsigned char fill) {
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != fill) return 0;
    return 1;
}

/* Takes a block in: checks it against all others, and soils all of it. */
static void keep(int n, void *block, size_t bytes, size_t alignment) {
    unsigned char *at = block;

    CHECK(at != NULL);
    CHECK((uintptr_t)at % (alignment < 16 ? 16 : alignment) == 0);
    slot[n].at = at;
    slot[n].bytes = bytes;
    slot[n].usable = malloc_usable_size(at);
    CHECK(slot[n].usable >= bytes);
    for (int i = 0; i < SLOTS; i++)
        if (i != n && slot[i].at) CHECK(at + slot[n].usable <= slot[i].at || slot[i].at + slot[i].usable <= at);
    slot[n].fill = line % 251 + 1;
    memset(at, slot[n].fill, slot[n].usable);
}

static void check(int n) {
    CHECK(malloc_usable_size(slot[n].at) == slot[n].usable);
    CHECK(is_filled(slot[n].at, slot[n].usable, slot[n].fill));
}

static void drop(int n) {
    if (!slot[n].at) return;
    check(n);
    free(slot[n].at);
    slot[n].at = NULL;
}

static void resize(int n, size_t count, size_t each) {
    size_t bytes = count * each, kept = slot[n].bytes < bytes ? slot[n].bytes : bytes;
    void *block;

    if (slot[n].at)
        check(n);
    else
        kept = 0;
    block = each == 1 ? realloc(slot[n].at, bytes) : reallocarray(slot[n].at, count, each);
    if (slot[n].at && bytes == 0) {
        CHECK(block == NULL);
        slot[n].at = NULL;
        return;
    }
    CHECK(block != NULL);
    CHECK(is_filled(block, kept, slot[n].fill));
    slot[n].at = NULL;
    keep(n, block, bytes, 16);
}

/* What cannot be had is refused with ENOMEM, and nothing is lost. */
static void refuse(int n) {
    volatile size_t most = SIZE_MAX, half = PTRDIFF_MAX;
    void *none = &none;

    errno = 0;
    CHECK(malloc(most) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(malloc(half + 1) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(calloc(most / 2, 3) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(reallocarray(slot[n].at, most / 2, 3) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(realloc(slot[n].at, most - 4096) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(pvalloc(most) == NULL && errno == ENOMEM);
    CHECK(posix_memalign(&none, 64, most - 4096) == ENOMEM && none == &none);
    CHECK(posix_memalign(&none, 24, 1) == EINVAL && none == &none);
    CHECK(posix_memalign(&none, 4, 1) == EINVAL && posix_memalign(&none, 0, 1) == EINVAL);
    CHECK(malloc_usable_size(NULL) == 0);
    if (slot[n].at) check(n);
}

int main(void) {
    unsigned n;
    char function[32];
    size_t bytes, alignment;

    while (scanf("%u %31s %zu %zu", &n, function, &bytes, &alignment) == 4) {
        void *block = NULL;

        line++;
        n %= SLOTS;
        if (!strcmp(function, "refuse")) {
            refuse(n);
            continue;
        }
        if (!strcmp(function, "realloc")) {
            resize(n, bytes, 1);
            continue;
        }
        if (!strcmp(function, "reallocarray")) {
            resize(n, bytes / 8, 8);
            continue;
        }
        drop(n);
        if (!strcmp(function, "malloc")) {
            block = malloc(bytes);
            alignment = 16;
        } else if (!strcmp(function, "calloc")) {
            block = calloc(bytes / 4, 4);
            bytes = bytes / 4 * 4;
            CHECK(block && is_filled(block, bytes, 0));
            alignment = 16;
        } else if (!strcmp(function, "posix_memalign")) {
            CHECK(posix_memalign(&block, alignment, bytes) == 0);
        } else if (!strcmp(function, "aligned_alloc")) {
            block = aligned_alloc(alignment, bytes);
        } else if (!strcmp(function, "memalign")) {
            /* glibc takes any number, and goes to the next power of two */
            block = memalign(alignment - alignment / 4, bytes);
        } else if (!strcmp(function, "valloc")) {
            block = valloc(bytes);
            alignment = 4096;
        } else if (!strcmp(function, "pvalloc")) {
            block = pvalloc(bytes);
            alignment = 4096;
            bytes = (bytes + 4095) / 4096 * 4096;
        } else if (!strcmp(function, "free")) {
            continue;
        } else {
            CHECK(!"a known function");
        }
        keep(n, block, bytes, alignment);
    }
    for (n = 0; n < SLOTS; n++) drop(n);
    return 0;
}
