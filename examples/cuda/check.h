// What every example needs: stop at the first CUDA error, and say at the end whether the GPU and the CPU agree.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t status = (call);                                                                                   \
        if (status != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, cudaGetErrorName(status),                           \
                    cudaGetErrorString(status));                                                                       \
            exit(2);                                                                                                   \
        }                                                                                                              \
    } while (0)

// Prints the verdict and gives the exit code of the program.
inline int verdict(const char *name, long long wrong, long long checked) {
    printf("%s: %lld of %lld values agree with the CPU\n", name, checked - wrong, checked);
    return wrong == 0 ? 0 : 1;
}
