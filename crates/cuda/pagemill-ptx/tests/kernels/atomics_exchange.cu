// arch: compute_75
// Exchange and compare-and-swap: locks, linked lists, and swaps of 16, 32 and 64 bits.
#include "common.cuh"

// All values ever in the cell, the last one included, are those put in.
extern "C" __global__ void exchange(u32 *cell, u64 *wide, u64 *sums) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 old = atomicExch(cell, i + 1);
    u64 old_wide = atomicExch(wide, (u64)i << 20 | 1);
    atomicAdd(&sums[0], (u64)old);
    atomicAdd(&sums[1], old_wide);
}

// A multiplication made atomic by compare-and-swap.
extern "C" __global__ void swap(const u64 *in, u32 *cell, u64 *wide, u16 *narrow) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 factor = (u32)in[i] | 1, seen = *(volatile u32 *)cell, expected;
    do {
        expected = seen;
        seen = atomicCAS(cell, expected, expected * factor);
    } while (seen != expected);
    u64 wide_seen = *(volatile u64 *)wide, wide_expected;
    do {
        wide_expected = wide_seen;
        wide_seen = atomicCAS(wide, wide_expected, wide_expected * (in[i] | 1));
    } while (wide_seen != wide_expected);
    u16 small = *(volatile u16 *)narrow, guess;
    do {
        guess = small;
        asm volatile("atom.global.cas.b16 %0, [%1], %2, %3;"
                     : "=h"(small)
                     : "l"(narrow), "h"(guess), "h"((u16)(guess * factor))
                     : "memory");
    } while (small != guess);
}

extern "C" __global__ void shared_swap(u32 *out) {
    __shared__ u32 cell;
    __shared__ u64 wide;
    if (threadIdx.x == 0) cell = 3, wide = 5;
    __syncthreads();
    u32 seen = cell, expected;
    do {
        expected = seen;
        seen = atomicCAS(&cell, expected, expected * 3);
    } while (seen != expected);
    u64 old = atomicExch(&wide, (u64)threadIdx.x + 100);
    u64 missed = atomicCAS(&wide, 1ull, 2ull);
    __syncthreads();
    out[threadIdx.x] = cell;
    out[blockDim.x + threadIdx.x] = old != missed;
}
