// arch: compute_90
// Barriers that are objects in shared memory: phases, arrivals that expect bytes, arrivals that drop out, waits by state and by
// parity, copies that arrive.
#include "common.cuh"

__device__ u32 shared_address(const void *at) { return (u32)__cvta_generic_to_shared(at); }
__device__ void init(u64 *barrier, u32 count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}
__device__ u64 arrive(u64 *barrier) {
    u64 state;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(shared_address(barrier)) : "memory");
    return state;
}
__device__ bool test_wait(u64 *barrier, u64 state) {
    u32 done;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared_address(barrier)), "l"(state) : "memory");
    return done;
}
__device__ bool try_wait_parity(u64 *barrier, u32 parity) {
    u32 done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared_address(barrier)), "r"(parity) : "memory");
    return done;
}

// A value handed around the block, one phase a step.
extern "C" __global__ void phase_relay(const u32 *in, u32 *out, u32 steps) {
    __shared__ u64 barrier;
    __shared__ u32 tile[128];
    u32 t = threadIdx.x, n = blockDim.x;
    if (t == 0) init(&barrier, n);
    tile[t] = in[t];
    __syncthreads();
    for (u32 step = 0; step < steps; step++) {
        u32 next = tile[(t + 5) % n] * 3 + step;
        u64 state = arrive(&barrier);
        while (!test_wait(&barrier, state)) {}
        tile[t] = next;
        arrive(&barrier);
        while (!try_wait_parity(&barrier, 1)) {}
    }
    out[t] = tile[t];
}

// One warp produces, the others consume: the producer expects bytes, and says when they have come.
extern "C" __global__ void phase_stages(const u32 *in, u32 *out, u32 count) {
    __shared__ u64 full, empty;
    __shared__ u32 stage[32];
    u32 t = threadIdx.x, lane = t % 32, warp = t / 32;
    if (t == 0) {
        init(&full, 1);
        init(&empty, 64);
    }
    __syncthreads();
    u32 sum = 0;
    for (u32 i = 0; i < count; i++) {
        if (warp == 0) {
            if (i > 0)
                while (!try_wait_parity(&empty, (i - 1) & 1)) {}
            if (lane == 0)
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" ::"r"(shared_address(&full)) : "memory");
            __syncwarp();
            stage[lane] = in[i * 32 + lane];
            asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 4;" ::"r"(shared_address(&full)) : "memory");
        } else {
            while (!try_wait_parity(&full, i & 1)) {}
            sum = sum * 7 + stage[lane] + warp;
            arrive(&empty);
        }
    }
    out[t] = sum;
}

// Threads that leave: every phase one less, until one is left. `pending_count` says how many had not arrived.
extern "C" __global__ void phase_leaving(u32 *out) {
    __shared__ u64 barrier;
    u32 t = threadIdx.x;
    if (t == 0) init(&barrier, blockDim.x);
    __syncthreads();
    u32 phases = 0, pending = 0;
    for (u32 phase = 0; phase <= t; phase++) {
        u64 state;
        if (phase == t)
            asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(shared_address(&barrier)) : "memory");
        else
            state = arrive(&barrier);
        u32 count;
        asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state));
        pending += count;
        if (phase == t) break;
        while (!test_wait(&barrier, state)) {}
        phases++;
    }
    out[t] = phases;
    atomicAdd(out + blockDim.x, pending);
}

// Asynchronous copies that arrive by themselves.
extern "C" __global__ void phase_copies(const u32 *in, u32 *out) {
    __shared__ u64 barrier;
    __shared__ u32 tile[64];
    u32 t = threadIdx.x;
    if (t == 0) init(&barrier, blockDim.x);
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(&tile[t])), "l"(in + t) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(&barrier)) : "memory");
    while (!try_wait_parity(&barrier, 0)) {}
    out[t] = tile[(t + 1) % blockDim.x];
    __syncthreads();
    if (t == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(&barrier)) : "memory");
}

// 128 bits at once: a lock-free pair of counters, and exchanges. And policies for caches, which change nothing.
extern "C" __global__ void pairs(u64 *pair, u64 *out) {
    u32 t = threadIdx.x;
    for (u32 round = 0; round < 3; round++) {
        u64 low = 0, high = 0;
        while (true) {
            u64 seen_low, seen_high;
            asm volatile("{ .reg .b128 d, b, c; mov.b128 b, {%3, %4}; mov.b128 c, {%5, %6};\n"
                         "atom.global.cas.b128 d, [%2], b, c; mov.b128 {%0, %1}, d; }"
                         : "=l"(seen_low), "=l"(seen_high)
                         : "l"(pair), "l"(low), "l"(high), "l"(low + 1), "l"(high + t)
                         : "memory");
            if (seen_low == low && seen_high == high) break;
            low = seen_low;
            high = seen_high;
        }
    }
    u64 old_low, old_high;
    asm volatile("{ .reg .b128 d, b; mov.b128 b, {%3, %4}; atom.global.exch.b128 d, [%2], b; mov.b128 {%0, %1}, d; }"
                 : "=l"(old_low), "=l"(old_high) : "l"(pair + 2 + 2 * (t / 2)), "l"((u64)t), "l"((u64)t * t) : "memory");
    u64 policy;
    u32 again;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.b32 %0, [%1], %2;" : "=r"(again) : "l"(out + 2 * t), "l"(policy));
    out[2 * t] = old_low + again;
    out[2 * t + 1] = old_high;
}
