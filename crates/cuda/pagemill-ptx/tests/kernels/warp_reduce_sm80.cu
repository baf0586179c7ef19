// arch: compute_80
// Reductions over a warp in one instruction.
#include "common.cuh"

extern "C" __global__ void reduce(const u32 *in, u32 *out) {
    u32 t = threadIdx.x, k = 0, x = in[t];
#define ROW(value) out[k++ * 32 + t] = (value);
    ROW(__reduce_add_sync(0xFFFFFFFF, x))
    ROW(__reduce_add_sync(0xFFFFFFFF, (s32)x))
    ROW(__reduce_min_sync(0xFFFFFFFF, x))
    ROW(__reduce_min_sync(0xFFFFFFFF, (s32)x))
    ROW(__reduce_max_sync(0xFFFFFFFF, x))
    ROW(__reduce_max_sync(0xFFFFFFFF, (s32)x))
    ROW(__reduce_and_sync(0xFFFFFFFF, x | 0xF0F0F0F0))
    ROW(__reduce_or_sync(0xFFFFFFFF, x & 0x00FF00FF))
    ROW(__reduce_xor_sync(0xFFFFFFFF, x))
    u32 part = 0;
    if (t < 12) part = __reduce_add_sync(0xFFF, x);
    ROW(part)
}
