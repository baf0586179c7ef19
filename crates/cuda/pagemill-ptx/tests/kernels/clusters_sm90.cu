// arch: compute_90
// Clusters of blocks: where a block is, accesses to shared memory of the others, and the barrier at which they meet.
#include "common.cuh"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ u32 shared_address(const void *at) { return (u32)__cvta_generic_to_shared(at); }
__device__ u32 in_block(const void *at, u32 rank) {
    u32 address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(at)), "r"(rank));
    return address;
}
__device__ u32 own_rank() {
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ u32 ranks() {
    u32 count;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
    return count;
}
__device__ void meet() {
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
__device__ u32 block_number() { return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }

// Every register that says where a block is.
extern "C" __global__ void cluster_places(u32 *out) {
    u32 v[16];
    asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(v[0]));
    asm volatile("mov.u32 %0, %%clusterid.y;" : "=r"(v[1]));
    asm volatile("mov.u32 %0, %%clusterid.z;" : "=r"(v[2]));
    asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(v[3]));
    asm volatile("mov.u32 %0, %%nclusterid.y;" : "=r"(v[4]));
    asm volatile("mov.u32 %0, %%nclusterid.z;" : "=r"(v[5]));
    asm volatile("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(v[6]));
    asm volatile("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(v[7]));
    asm volatile("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(v[8]));
    asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(v[9]));
    asm volatile("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(v[10]));
    asm volatile("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(v[11]));
    v[12] = own_rank();
    v[13] = ranks();
    asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(v[14]));
    v[15] = cg::this_cluster().block_rank();
    for (u32 i = threadIdx.x; i < 16; i += blockDim.x) out[16 * block_number() + i] = v[i];
}

// Each block stores into the next one and loads from the one after that: by an address of the cluster and by a generic one.
#define EXCHANGE(name, T, R, type, reg)                                                                                 \
    extern "C" __global__ void exchange_##name(const T *in, T *out) {                                                 \
        __shared__ T tile[64], other[64];                                                                              \
        u32 t = threadIdx.x, n = ranks(), r = own_rank(), at = 64 * block_number() + t;                                 \
        R value = in[at], loaded;                                                                                      \
        meet();                                                                                                        \
        asm volatile("st.shared::cluster." #type " [%0], %1;" ::"r"(in_block(&tile[t], (r + 1) % n)), reg(value)        \
                     : "memory");                                                                                      \
        *cg::this_cluster().map_shared_rank(&other[63 - t], (r + 2) % n) = (T)value;                                    \
        meet();                                                                                                        \
        asm volatile("ld.shared::cluster." #type " %0, [%1];"                                                          \
                     : "=" reg(loaded)                                                                                 \
                     : "r"(in_block(&tile[t], (r + 2) % n))                                                            \
                     : "memory");                                                                                      \
        out[3 * at] = tile[t];                                                                                         \
        out[3 * at + 1] = (T)loaded;                                                                                   \
        out[3 * at + 2] = *cg::this_cluster().map_shared_rank(&other[t], (r + n - 1) % n);                              \
        meet();                                                                                                        \
    }
EXCHANGE(u8, u8, u32, u8, "r")
EXCHANGE(u16, u16, u16, u16, "h")
EXCHANGE(u32, u32, u32, u32, "r")
EXCHANGE(u64, u64, u64, u64, "l")
EXCHANGE(f32, float, float, f32, "f")
EXCHANGE(f64, double, double, f64, "d")

// The same with vectors, whose lanes go to blocks of their own choice.
#define VECTOR(name, T, type, reg)                                                                                     \
    extern "C" __global__ void scatter_##name(const T *in, T *out) {                                                  \
        __shared__ alignas(16) T tile[64];                                                                             \
        u32 t = threadIdx.x, n = ranks(), r = own_rank(), at = 32 * block_number() + t;                                 \
        tile[2 * t] = tile[2 * t + 1] = 0;                                                                             \
        meet();                                                                                                        \
        u32 to = in_block(&tile[2 * t], (r + t) % n);                                                                  \
        asm volatile("st.shared::cluster.v2." #type " [%0], {%1, %2};" ::"r"(to), reg(in[2 * at]), reg(in[2 * at + 1])  \
                     : "memory");                                                                                      \
        meet();                                                                                                        \
        T a, b;                                                                                                        \
        u32 from = in_block(&tile[2 * t], (r + 3 * t) % n);                                                            \
        asm volatile("ld.shared::cluster.v2." #type " {%0, %1}, [%2];" : "=" reg(a), "=" reg(b) : "r"(from) : "memory"); \
        out[2 * at] = a;                                                                                               \
        out[2 * at + 1] = b;                                                                                           \
        meet();                                                                                                        \
    }
VECTOR(v2u32, u32, u32, "r")
VECTOR(v2u64, u64, u64, "l")
VECTOR(v2f32, float, f32, "f")

// In each round, every thread changes its word in another block twice, and keeps what it was.
#define ATOMIC(name, T, op, reg)                                                                                       \
    extern "C" __global__ void atomic_##name(const T *in, T *out, T *old) {                                           \
        __shared__ T words[32];                                                                                        \
        u32 t = threadIdx.x, n = ranks(), r = own_rank(), at = 32 * block_number() + t;                                 \
        words[t] = in[at] >> 1;                                                                                        \
        meet();                                                                                                        \
        for (u32 round = 0; round < n; round++) {                                                                      \
            T before, value = in[at];                                                                                  \
            u32 word = in_block(&words[t], (r + round) % n);                                                           \
            asm volatile("atom.relaxed.cluster.shared::cluster." #op " %0, [%1], %2;"                                  \
                         : "=" reg(before) : "r"(word), reg(value) : "memory");                                        \
            asm volatile("red.relaxed.cluster.shared::cluster." #op " [%0], %1;" ::"r"(word), reg(value) : "memory");    \
            old[n * at + round] = before;                                                                              \
            meet();                                                                                                    \
        }                                                                                                              \
        out[at] = words[t];                                                                                            \
    }
ATOMIC(add_u32, u32, add.u32, "r")
ATOMIC(add_u64, u64, add.u64, "l")
ATOMIC(min_u32, u32, min.u32, "r")
ATOMIC(max_u32, u32, max.u32, "r")
ATOMIC(min_s32, s32, min.s32, "r")
ATOMIC(max_s32, s32, max.s32, "r")
ATOMIC(min_u64, u64, min.u64, "l")
ATOMIC(max_u64, u64, max.u64, "l")
ATOMIC(and_b32, u32, and.b32, "r")
ATOMIC(or_b32, u32, or.b32, "r")
ATOMIC(xor_b32, u32, xor.b32, "r")
ATOMIC(and_b64, u64, and.b64, "l")
ATOMIC(or_b64, u64, or.b64, "l")
ATOMIC(xor_b64, u64, xor.b64, "l")
ATOMIC(inc_u32, u32, inc.u32, "r")
ATOMIC(dec_u32, u32, dec.u32, "r")

// A lock in the first block, taken by a thread of each block; generic atomics.
extern "C" __global__ void cluster_lock(u32 *out) {
    __shared__ u32 lock, count;
    if (threadIdx.x == 0) lock = count = 0;
    cg::cluster_group cluster = cg::this_cluster();
    cluster.sync();
    u32 *first_lock = cluster.map_shared_rank(&lock, 0), *first_count = cluster.map_shared_rank(&count, 0);
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(first_lock, 0u, 1u) != 0u) {}
        u32 seen = *(volatile u32 *)first_count;
        *(volatile u32 *)first_count = seen + 1;
        __threadfence();
        atomicExch(first_lock, 0u);
    }
    cluster.sync();
    if (threadIdx.x == 0) out[block_number()] = *first_count;
    cluster.sync();
}

// Arriving and waiting apart, many times: between them a warp does what the others do not see yet.
extern "C" __global__ void cluster_phases(u32 *out, u32 rounds) {
    __shared__ u32 sum[2];
    u32 t = threadIdx.x, n = ranks(), r = own_rank();
    if (t < 2) sum[t] = 0;
    meet();
    u32 total = 0;
    for (u32 round = 0; round < rounds; round++) {
        u32 *slot = &sum[round % 2];
        if (t % 32 == 0)
            asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(in_block(slot, (r + round) % n)), "r"(r + 1) : "memory");
        switch (round % 4) {
            case 0: asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); break;
            case 1: asm volatile("barrier.cluster.arrive.aligned;" ::: "memory"); break;
            case 2: asm volatile("barrier.cluster.arrive.release;" ::: "memory"); break;
            default: asm volatile("fence.acq_rel.cluster;\n\tbarrier.cluster.arrive.relaxed;" ::: "memory");
        }
        total = total * 3 + round;
        switch (round % 3) {
            case 0: asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); break;
            case 1: asm volatile("barrier.cluster.wait;" ::: "memory"); break;
            default: asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
        }
        total = total * 5 + *(volatile u32 *)slot;
        meet();
        if (t == 0) *slot = 0;
    }
    out[blockDim.x * block_number() + t] = total;
}

// Warps end one after the other; the barrier waits for those that are left.
extern "C" __global__ void cluster_leaving(u32 *out) {
    u32 warp = threadIdx.x / 32, r = own_rank(), passed = 0;
    for (u32 round = 0; round <= warp + r; round++) {
        meet();
        passed++;
    }
    out[blockDim.x * block_number() + threadIdx.x] = passed;
    if ((warp + r) % 2) asm volatile("barrier.cluster.arrive;" ::: "memory");
}

// Barrier objects of other blocks: a block is told by all others.
extern "C" __global__ void cluster_messages(const u32 *in, u32 *out) {
    __shared__ u64 barrier;
    __shared__ u32 inbox[16];
    u32 t = threadIdx.x, n = ranks(), r = own_rank();
    if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(n) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    meet();
    if (t < n) {
        u32 value = in[block_number()] + t;
        asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(in_block(&inbox[r], t)), "r"(value) : "memory");
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(in_block(&barrier, t)) : "memory");
    }
    u32 done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared_address(&barrier)) : "memory");
    u32 sum = 0;
    for (u32 i = 0; i < n; i++) sum = sum * 31 + inbox[i];
    out[blockDim.x * block_number() + t] = sum;
    meet();
}

// Stores and sums that count at a barrier object of the block that gets them.
extern "C" __global__ void cluster_async(const u32 *in, u32 *out) {
    __shared__ u64 barrier;
    __shared__ alignas(16) u32 inbox[4 * 64];
    __shared__ u32 sums[6];
    __shared__ u64 wide[3];
    u32 t = threadIdx.x, n = ranks(), r = own_rank(), next = (r + 1) % n;
    if (t < 6) sums[t] = t == 3 || t == 1 ? 0xffffffff : 0;
    if (t < 3) wide[t] = 0;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
        // By each thread: 16 bytes in a vector of four, six sums of 4 bytes, one of 8 and a word of 8 bytes.
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(64 * (16 + 24 + 16)) : "memory");
    }
    meet();
    u32 at = in_block(&barrier, next);
    const u32 *v = in + 4 * (64 * block_number() + t);
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
                 ::"r"(in_block(&inbox[4 * t], next)), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]), "r"(at) : "memory");
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];"
                 ::"r"(in_block(&wide[0], next)), "l"((u64)n << 40), "r"(at) : "memory");
#define ADD(op, to, reg, value)                                                                                        \
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." #op " [%0], %1, [%2];"      \
                 ::"r"(in_block(&to, next)), reg(value), "r"(at) : "memory")
    ADD(add.u32, sums[0], "r", v[0]);
    ADD(min.u32, sums[1], "r", v[1]);
    ADD(max.u32, sums[2], "r", v[2]);
    ADD(and.b32, sums[3], "r", v[3] | 0xff);
    ADD(or.b32, sums[4], "r", v[0] & v[1]);
    ADD(xor.b32, sums[5], "r", v[1]);
    ADD(add.u64, wide[1], "l", (u64)v[2] << 8);
    u32 done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared_address(&barrier)) : "memory");
    u32 *own = out + 266 * block_number();
    for (u32 i = t; i < 256; i += 64) own[i] = inbox[i];
    if (t < 6) own[256 + t] = sums[t];
    if (t < 2) own[262 + 2 * t] = (u32)wide[t], own[263 + 2 * t] = (u32)(wide[t] >> 32);
    meet();
}

// Which block an address is in, and which space.
extern "C" __global__ void cluster_addresses(u32 *out) {
    __shared__ u32 tile[4];
    u32 n = ranks(), r = own_rank(), wrong = 0;
    tile[threadIdx.x % 4] = 0;
    for (u32 rank = 0; rank < n; rank++) {
        u32 *there = cg::this_cluster().map_shared_rank(&tile[1], rank);
        u32 generic_rank, narrow_rank, in_cta, in_cluster;
        asm volatile("getctarank.u64 %0, %1;" : "=r"(generic_rank) : "l"(there));
        asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(narrow_rank) : "r"(in_block(&tile[1], rank)));
        asm volatile("{ .reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(in_cta) : "l"(there));
        asm volatile("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(in_cluster) : "l"(there));
        wrong += generic_rank != rank || narrow_rank != rank || in_cta != (rank == r) || !in_cluster;
        wrong += cg::this_cluster().query_shared_rank(there) != rank;
    }
    out[block_number()] = wrong;
    meet();
}

// A size that the kernel was compiled for.
extern "C" __global__ void __cluster_dims__(4, 2, 1) cluster_fixed(u32 *out) {
    if (threadIdx.x == 0) out[block_number()] = own_rank() * 100 + ranks();
}

// What a cluster must not do.
extern "C" __global__ void cluster_mistakes(u32 *out, u32 mistake) {
    __shared__ u32 words[4];
    u32 value = 0;
    words[threadIdx.x % 4] = threadIdx.x;
    if (mistake == 0) asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(in_block(words, ranks())));
    if (mistake == 1) asm volatile("atom.shared::cluster.add.u32 %0, [%1], 1;" : "=r"(value) : "r"(in_block(words, 0xffffffffu)));
    if (mistake == 2) asm volatile("st.shared::cluster.u32 [%0], 1;" ::"r"(in_block(words, 1) + 65536));
    if (mistake == 3) asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(in_block(words, 1) + 2));
    if (mistake == 4) asm volatile("barrier.cluster.wait;");
    if (mistake == 5) asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.arrive;");
    if (mistake == 6 && threadIdx.x < 7) meet();
    out[threadIdx.x] = value;
}

// A warp waits at a barrier of its block for one that waits at the barrier of the cluster.
extern "C" __global__ void cluster_deadlock() {
    if (own_rank() == 1 && threadIdx.x < 32) asm volatile("barrier.sync 1, 64;");
    meet();
}
