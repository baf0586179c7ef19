// arch: compute_75
// Barriers: whole blocks, named barriers of some warps, producers that do not wait, and barriers that reduce.
#include "common.cuh"

// A value handed around the block, one step per barrier.
extern "C" __global__ void relay(u32 *out) {
    __shared__ u32 tile[256];
    u32 t = threadIdx.x, n = blockDim.x;
    tile[t] = t;
    for (u32 step = 0; step < 10; step++) {
        __syncthreads();
        u32 next = tile[(t + 7) % n] * 3 + step;
        __syncthreads();
        tile[t] = next;
    }
    __syncthreads();
    out[blockIdx.x * n + t] = tile[t];
}

// Two halves of the block work behind barriers of their own.
extern "C" __global__ void halves(u32 *out) {
    __shared__ u32 tile[128];
    u32 t = threadIdx.x, half = t / 64;
    tile[t] = t * t;
    for (u32 round = 0; round < 4 + half; round++) {
        u32 value;
        if (half == 0) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            value = tile[(t + 1) % 64];
            asm volatile("barrier.sync 1, 64;" ::: "memory");
        } else {
            asm volatile("barrier.sync.aligned 2, 64;" ::: "memory");
            value = tile[64 + (t + 1) % 64];
            asm volatile("bar.sync %0, %1;" ::"r"(2), "r"(64) : "memory");
        }
        tile[t] += value;
    }
    __syncthreads();
    out[t] = tile[t];
}

// Warp 0 produces and goes on; the others wait for it.
extern "C" __global__ void produce(u32 *out) {
    __shared__ u32 tile[32];
    u32 t = threadIdx.x;
    if (t < 32) {
        tile[t] = 500 + t;
        __threadfence_block();
        asm volatile("bar.arrive 3, 128;" ::: "memory");
        out[t] = 1;
    } else {
        asm volatile("bar.sync 3, 128;" ::: "memory");
        out[t] = tile[t % 32];
    }
}

extern "C" __global__ void reduce(const u32 *in, u32 *out) {
    u32 t = threadIdx.x, n = blockDim.x;
    out[t] = __syncthreads_count(in[t] % 3 == 0);
    out[n + t] = __syncthreads_and(in[t] < 100);
    out[2 * n + t] = __syncthreads_or(in[t] == 77);
    u32 count;
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 50; barrier.cta.red.popc.aligned.u32 %0, 4, !p; }"
                 : "=r"(count)
                 : "r"(in[t])
                 : "memory");
    out[3 * n + t] = count;
}

// Some warps have left when the rest meet.
extern "C" __global__ void leavers(u32 *out) {
    u32 t = threadIdx.x;
    if (t >= 64) {
        out[t] = 9;
        return;
    }
    __shared__ u32 tile[64];
    tile[t] = t + 1;
    __syncthreads();
    out[t] = tile[63 - t];
}

extern "C" __global__ void warps(u32 *out) {
    __shared__ volatile u32 tile[64];
    u32 t = threadIdx.x;
    tile[t] = t * 5;
    __syncwarp();
    out[t] = tile[t ^ 31];
    asm volatile("nanosleep.u32 %0;" ::"r"(20 + t));
    asm volatile("nanosleep.u32 100;");
}
