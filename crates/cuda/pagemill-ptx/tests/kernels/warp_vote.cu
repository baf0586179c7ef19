// arch: compute_75
// Votes, matches and the mask of active lanes.
#include "common.cuh"

extern "C" __global__ void votes(const u32 *in, u32 *out) {
    u32 t = threadIdx.x, k = 0, x = in[t];
#define ROW(value) out[k++ * 32 + t] = (value);
    ROW(__all_sync(0xFFFFFFFF, x > 2))
    ROW(__all_sync(0xFFFFFFFF, x < 1000))
    ROW(__any_sync(0xFFFFFFFF, x == 5))
    ROW(__any_sync(0xFFFFFFFF, x > 1000))
    ROW(__ballot_sync(0xFFFFFFFF, x % 3 == 0))
    ROW(__uni_sync(0xFFFFFFFF, x & 1))
    ROW(__uni_sync(0xFFFFFFFF, x < 1000))
    u32 odd = 0;
    if (t & 1) odd = __ballot_sync(0xAAAAAAAA, x > 10) | (u32)__all_sync(0xAAAAAAAA, x < 1000) << 31;
    ROW(odd)
    u32 negated;
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 10; vote.sync.ballot.b32 %0, !p, 0xFFFFFFFF; }"
                 : "=r"(negated)
                 : "r"(x));
    ROW(negated)
}

extern "C" __global__ void matches(const u32 *in, u32 *out) {
    u32 t = threadIdx.x, k = 0, x = in[t] % 5;
    ROW(__match_any_sync(0xFFFFFFFF, x))
    ROW(__match_any_sync(0xFFFFFFFF, (u64)x << 40))
    int same;
    ROW(__match_all_sync(0xFFFFFFFF, x, &same))
    ROW(same)
    ROW(__match_all_sync(0xFFFFFFFF, x / 8, &same))
    ROW(same)
    ROW(__match_all_sync(0xFFFFFFFF, (u64)(x / 8) << 33, &same))
    ROW(same)
}

extern "C" __global__ void active(u32 *out) {
    u32 t = threadIdx.x, mask = 0;
    if (t % 3 == 0) {
        mask = __activemask();
    } else if (t < 16) {
        mask = __activemask() << 1 | 1;
    }
    out[t] = mask;
    out[32 + t] = __activemask();
}
