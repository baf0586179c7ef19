// arch: compute_75
// printf with every conversion.
#include "common.cuh"
#include <cstdio>

__device__ char name[] = "module text";

extern "C" __global__ void formats() {
    printf("d %d %5d %-5d| %05d %+d\n", -7, 42, 42, 42, 42);
    printf("u %u %x %X %#x %o %08x\n", 4000000000u, 0xBEEFu, 0xBEEFu, 255u, 8u, 0x1234u);
    printf("ll %lld %llu %llx\n", -5000000000ll, 18446744073709551615ull, 0xFEEDFACECAFEull);
    printf("f %f %.2f %8.3f %e %.3e %g %g %g\n", 1.5, 2.71828, -3.14159, 12345.678, 0.00012, 0.0001, 1e10, 100000.0);
    printf("s %s|%10s|%-8s|%.3s c %c%c %%\n", name, "right", "left", "cut off", 'o', 'k');
    printf("no arguments\n");
}

extern "C" __global__ void lanes(u32 limit) {
    if (threadIdx.x < limit) printf("thread %u of block %u\n", threadIdx.x, blockIdx.x);
}

extern "C" __global__ void result(u32 *out) { out[threadIdx.x] = printf("%d %d\n", 1, 2); }

extern "C" __global__ void pointer(const void *place) { printf("%p\n", place); }
