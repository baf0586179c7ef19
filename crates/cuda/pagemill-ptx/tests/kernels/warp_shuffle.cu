// arch: compute_75
// Shuffles: every mode, sub-warps, lanes out of range, and reductions made of them.
#include "common.cuh"

#define SHUFFLE(mode, lane, clamp)                                                                                   \
    {                                                                                                                \
        u32 value, inside;                                                                                           \
        asm volatile("{ .reg .pred p; shfl.sync." mode ".b32 %0|p, %2, %3, %4, 0xFFFFFFFF; selp.u32 %1, 1, 0, p; }"  \
                     : "=r"(value), "=r"(inside)                                                                     \
                     : "r"(mine), "r"(lane), "r"(clamp));                                                            \
        out[k++ * 32 + t] = value * 2 + inside;                                                                      \
    }

extern "C" __global__ void modes(u32 *out) {
    u32 t = threadIdx.x, mine = t * t + 3, k = 0;
    SHUFFLE("up", 1, 0x0)
    SHUFFLE("up", 7, 0x0)
    SHUFFLE("up", 3, 0x1800)
    SHUFFLE("down", 1, 0x1F)
    SHUFFLE("down", 20, 0x1F)
    SHUFFLE("down", 3, 0x181F)
    SHUFFLE("bfly", 1, 0x1F)
    SHUFFLE("bfly", 17, 0x1F)
    SHUFFLE("bfly", 4, 0x1C1F)
    SHUFFLE("idx", 5, 0x1F)
    SHUFFLE("idx", t * 3 + 40, 0x1F)
    SHUFFLE("idx", t + 1, 0x181F)
}

extern "C" __global__ void reduce(const double *in, double *sum, u64 *prefix) {
    u32 t = threadIdx.x;
    double x = in[t];
    for (u32 step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xFFFFFFFF, x, step);
    sum[t] = x;
    u64 y = (u64)t * t + 1;
    for (u32 step = 1; step < 32; step *= 2) {
        u64 other = __shfl_up_sync(0xFFFFFFFF, y, step);
        if (t >= step) y += other;
    }
    prefix[t] = y;
}

// Only the members of the mask take part.
extern "C" __global__ void part(u32 *out) {
    u32 t = threadIdx.x, value = 1000 + t;
    if (t % 2 == 1) value = __shfl_sync(0xAAAAAAAA, t * 10, (t + 2) % 32);
    out[t] = value;
}
