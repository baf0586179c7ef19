// arch: compute_75
// What stops a kernel.
#include "common.cuh"
#include <cassert>

extern "C" __global__ void trap(u32 thread) {
    if (threadIdx.x == thread) __trap();
}

extern "C" __global__ void breakpoint(u32 *out) {
    out[threadIdx.x] = 3;
    if (threadIdx.x == 40) __brkpt();
}

extern "C" __global__ void check(const u32 *in) { assert(in[threadIdx.x] < 100); }

extern "C" __global__ void leave(u32 *out) {
    out[threadIdx.x] = 1;
    if (threadIdx.x & 1) asm volatile("exit;");
    out[threadIdx.x] = 2;
}

extern "C" __global__ void read(const u32 *in, u32 *out, u32 index) { out[threadIdx.x] = in[threadIdx.x + index]; }

extern "C" __global__ void write(u32 *out, u64 offset) { *(u32 *)((u8 *)out + offset) = 1; }

extern "C" __global__ void shared(u32 index, u32 *out) {
    __shared__ u32 tile[32];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x + index];
}

extern "C" __global__ void forever(volatile u32 *flag) {
    while (*flag == 0) {
    }
}

// One half of the block waits at a barrier that the other half never reaches, for it waits at another.
extern "C" __global__ void deadlock() {
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;");
    else
        asm volatile("bar.sync 2, 64;");
}

extern "C" __global__ void divide(const s32 *in, s32 *out) { out[threadIdx.x] = in[threadIdx.x] / in[threadIdx.x + 32]; }
