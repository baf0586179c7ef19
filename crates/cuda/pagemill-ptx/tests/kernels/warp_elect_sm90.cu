// arch: compute_90
// One lane of a warp chosen to act for all.
#include "common.cuh"

extern "C" __global__ void elect(u32 *out) {
    u32 leader, chosen;
    asm volatile("{ .reg .pred p; elect.sync %0|p, 0xFFFFFFFF; selp.u32 %1, 1, 0, p; }" : "=r"(leader), "=r"(chosen));
    out[threadIdx.x] = leader < 32;
    out[32 + threadIdx.x] = __popc(__ballot_sync(0xFFFFFFFF, chosen));
}
