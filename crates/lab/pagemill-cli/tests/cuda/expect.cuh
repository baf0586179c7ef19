// What the test programs share: each prints a line for everything that is not as CUDA says, and counts it.
#pragma once
#include <cstdio>

static int wrong = 0;
#define EXPECT(condition)                                           \
    do {                                                            \
        if (!(condition)) {                                         \
            printf("line %d: %s is false\n", __LINE__, #condition); \
            wrong++;                                                \
        }                                                           \
    } while (0)
#define OK(call) EXPECT((call) == cudaSuccess)
