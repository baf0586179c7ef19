// arch: compute_90
// Bulk copies and reductions by one thread: from global to shared memory and back, between shared memories of a cluster,
// awaited by mbarriers and by groups.
#include "common.cuh"

__device__ u32 shared_address(const void *at) { return (u32)__cvta_generic_to_shared(at); }
__device__ void init(u64 *barrier, u32 count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}
__device__ void expect(u64 *barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}
__device__ void wait(u64 *barrier, u32 parity) {
    u32 done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared_address(barrier)), "r"(parity) : "memory");
    } while (!done);
}
__device__ void store_group(void *to, const void *from, u32 bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Stages of `bytes` bytes, each loaded by thread 0, changed by all, and stored by thread 0.
extern "C" __global__ void bulk_stages(const u32 *in, u32 *out, u32 bytes, u32 stages) {
    __shared__ alignas(16) u32 tile[1024];
    __shared__ u64 barrier;
    u32 t = threadIdx.x;
    if (t == 0) init(&barrier, 1);
    __syncthreads();
    for (u32 stage = 0; stage < stages; stage++) {
        if (t == 0) {
            expect(&barrier, bytes);
            asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(in + stage * bytes / 4), "r"(bytes) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                         ::"r"(shared_address(tile)), "l"(in + stage * bytes / 4), "r"(bytes), "r"(shared_address(&barrier)) : "memory");
        }
        wait(&barrier, stage & 1);
        for (u32 i = t; i < bytes / 4; i += blockDim.x) tile[i] = tile[i] * 3 + stage;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (t == 0) store_group(out + stage * bytes / 4, tile, bytes);
        __syncthreads();
    }
}

// A guard that holds for one thread of the warp; the others go around the copy. With the cache hint, and in shared::cta.
extern "C" __global__ void bulk_guarded(const u32 *in, u32 *out, u32 bytes) {
    __shared__ alignas(16) u32 tile[256];
    __shared__ u64 barrier;
    u32 t = threadIdx.x;
    if (t == 0) init(&barrier, 1);
    for (u32 i = t; i < 256; i += blockDim.x) tile[i] = 0xeeeeeeee;
    __syncthreads();
    if (t == 0) expect(&barrier, bytes);
    u64 policy = 0;
    asm volatile("{ .reg .pred p; setp.eq.u32 p, %4, 5;"
                 "@p cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0+16], [%1+32], %2, [%3], %5; }"
                 ::"r"(shared_address(tile)), "l"(in), "r"(bytes), "r"(shared_address(&barrier)), "r"(t), "l"(policy) : "memory");
    wait(&barrier, 0);
    for (u32 i = t; i < 256; i += blockDim.x) out[i] = tile[i];
}

// Each block of a cluster of two sends its tile to the other.
extern "C" __global__ void __cluster_dims__(2) bulk_exchange(const u32 *in, u32 *out) {
    __shared__ alignas(16) u32 mine[128], theirs[128];
    __shared__ u64 barrier;
    u32 t = threadIdx.x, rank = blockIdx.x % 2;
    mine[t] = in[blockIdx.x * 128 + t] + 1;
    if (t == 0) {
        init(&barrier, 1);
        expect(&barrier, sizeof mine);
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    if (t == 0) {
        u32 to, at;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(shared_address(theirs)), "r"(1 - rank));
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(shared_address(&barrier)), "r"(1 - rank));
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     ::"r"(to), "r"(shared_address(mine)), "r"((u32)sizeof mine), "r"(at) : "memory");
    }
    wait(&barrier, 0);
    out[blockIdx.x * 128 + t] = theirs[t];
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

#define REDUCE(name, type, word)                                                                                                   \
    extern "C" __global__ void bulk_##name(const word *in, word *to) {                                                             \
        __shared__ alignas(16) word tile[64];                                                                                      \
        tile[threadIdx.x] = in[threadIdx.x];                                                                                       \
        __syncthreads();                                                                                                           \
        if (threadIdx.x == 0) {                                                                                                    \
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." type " [%0], [%1], %2;"                             \
                         ::"l"(to), "r"(shared_address(tile)), "r"((u32)sizeof tile) : "memory");                                  \
            asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");                                 \
        }                                                                                                                          \
    }
REDUCE(add_u32, "add.u32", u32)
REDUCE(add_s32, "add.s32", u32)
REDUCE(min_s32, "min.s32", u32)
REDUCE(max_u32, "max.u32", u32)
REDUCE(inc_u32, "inc.u32", u32)
REDUCE(dec_u32, "dec.u32", u32)
REDUCE(and_b32, "and.b32", u32)
REDUCE(or_b32, "or.b32", u32)
REDUCE(xor_b32, "xor.b32", u32)
REDUCE(add_u64, "add.u64", u64)
REDUCE(min_u64, "min.u64", u64)
REDUCE(max_s64, "max.s64", u64)
REDUCE(xor_b64, "xor.b64", u64)
REDUCE(add_f32, "add.f32", u32)
REDUCE(add_f64, "add.f64", u64)
REDUCE(add_f16, "add.noftz.f16", u16)
REDUCE(add_bf16, "add.noftz.bf16", u16)
REDUCE(min_f16, "min.f16", u16)
REDUCE(max_f16, "max.f16", u16)
REDUCE(min_bf16, "min.bf16", u16)
REDUCE(max_bf16, "max.bf16", u16)

// The block of rank 0 of a cluster of four copies to those that the mask names.
extern "C" __global__ void __cluster_dims__(4) bulk_multicast(const u32 *in, u32 *out, u32 bytes, u32 mask) {
    __shared__ alignas(16) u32 tile[256];
    __shared__ u64 barrier;
    u32 t = threadIdx.x, rank = blockIdx.x % 4, own = mask >> rank & 1;
    for (u32 i = t; i < 256; i += blockDim.x) tile[i] = 0xeeeeeeee;
    if (t == 0) {
        init(&barrier, 1);
        expect(&barrier, own ? bytes : 0);
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    if (t == 0 && rank == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;"
                     ::"r"(shared_address(tile)), "l"(in), "r"(bytes), "r"(shared_address(&barrier)), "h"((u16)mask) : "memory");
    if (own) wait(&barrier, 0);
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    for (u32 i = t; i < 256; i += blockDim.x) out[blockIdx.x * 256 + i] = tile[i];
}
