// arch: compute_90
// Boxes of tensors: to shared memory, back, and reduced into global memory, by tensor maps in parameters and in global memory,
// for blocks alone and for several blocks of a cluster.
#include "common.cuh"

struct alignas(64) TensorMap { u64 words[16]; };
struct Box { int at[5]; };

extern __shared__ __align__(1024) unsigned char tile[];

__device__ u32 shared_address(const void *at) { return (u32)__cvta_generic_to_shared(at); }
__device__ void begin(u64 *barrier, u32 bytes) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}
__device__ void wait(u64 *barrier) {
    u32 done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared_address(barrier)) : "memory");
    } while (!done);
}
__device__ void copy_out(u32 *out, u32 bytes) {
    if (shared_address(tile) % 1024) __trap();
    for (u32 i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[i] = ((const u32 *)tile)[i];
}
__device__ void copy_in(const u32 *in, u32 bytes) {
    for (u32 i = threadIdx.x; i < bytes / 4; i += blockDim.x) ((u32 *)tile)[i] = in[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
}
__device__ void finish() {
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

#define COORDINATES_1 "{%2}"
#define COORDINATES_2 "{%2, %3}"
#define COORDINATES_3 "{%2, %3, %4}"
#define COORDINATES_4 "{%2, %3, %4, %5}"
#define COORDINATES_5 "{%2, %3, %4, %5, %6}"
#define AT(box) "r"(box.at[0]), "r"(box.at[1]), "r"(box.at[2]), "r"(box.at[3]), "r"(box.at[4])

#define LOAD(rank)                                                                                                               \
    extern "C" __global__ void tensor_load_##rank##d(const __grid_constant__ TensorMap map, Box box, u32 *out, u32 bytes) {      \
        __shared__ u64 barrier;                                                                                                  \
        if (threadIdx.x == 0) {                                                                                                  \
            begin(&barrier, bytes);                                                                                              \
            asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");                                                     \
            asm volatile("cp.async.bulk.prefetch.tensor." #rank "d.L2.global.tile [%1, " COORDINATES_##rank "];"                 \
                         ::"r"(0), "l"(&map), AT(box) : "memory");                                                               \
            asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "  \
                         COORDINATES_##rank "], [%7];"                                                                           \
                         ::"r"(shared_address(tile)), "l"(&map), AT(box), "r"(shared_address(&barrier)) : "memory");             \
        }                                                                                                                        \
        __syncthreads();                                                                                                         \
        wait(&barrier);                                                                                                          \
        copy_out(out, bytes);                                                                                                    \
    }
LOAD(1)
LOAD(2)
LOAD(3)
LOAD(4)
LOAD(5)

#define STORE(rank)                                                                                                              \
    extern "C" __global__ void tensor_store_##rank##d(const __grid_constant__ TensorMap map, Box box, const u32 *in, u32 bytes) { \
        copy_in(in, bytes);                                                                                                      \
        if (threadIdx.x == 0) {                                                                                                  \
            asm volatile("cp.async.bulk.tensor." #rank "d.global.shared::cta.tile.bulk_group [%1, " COORDINATES_##rank "], [%0];" \
                         ::"r"(shared_address(tile)), "l"(&map), AT(box) : "memory");                                            \
            finish();                                                                                                            \
        }                                                                                                                        \
    }
STORE(1)
STORE(2)
STORE(3)
STORE(4)
STORE(5)

#define REDUCE(operation, rank)                                                                                                  \
    extern "C" __global__ void tensor_##operation##_##rank##d(const __grid_constant__ TensorMap map, Box box, const u32 *in,     \
                                                              u32 bytes) {                                                       \
        copy_in(in, bytes);                                                                                                      \
        if (threadIdx.x == 0) {                                                                                                  \
            asm volatile("cp.reduce.async.bulk.tensor." #rank "d.global.shared::cta." #operation ".tile.bulk_group [%1, "        \
                         COORDINATES_##rank "], [%0];"                                                                           \
                         ::"r"(shared_address(tile)), "l"(&map), AT(box) : "memory");                                            \
            finish();                                                                                                            \
        }                                                                                                                        \
    }
#define REDUCE_ALL(rank)                                                                                                         \
    REDUCE(add, rank)                                                                                                            \
    REDUCE(min, rank)                                                                                                            \
    REDUCE(max, rank)                                                                                                            \
    REDUCE(inc, rank)                                                                                                            \
    REDUCE(dec, rank)                                                                                                            \
    REDUCE(and, rank)                                                                                                            \
    REDUCE(or, rank)                                                                                                             \
    REDUCE(xor, rank)
REDUCE_ALL(1)
REDUCE_ALL(2)
REDUCE_ALL(3)
REDUCE_ALL(4)
REDUCE_ALL(5)

// The map in global memory, behind a fence for what changed it, with the cache hint, and a guard that holds for one
// thread of the warp.
__device__ void load_by(const TensorMap *map, Box box, u32 *out, u32 bytes, u64 *barrier) {
    if (threadIdx.x == 0) begin(barrier, bytes);
    __syncthreads();
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
    u64 policy = 0;
    asm volatile("{ .reg .pred p; setp.eq.u32 p, %5, 7;"
                 "@p cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2, %3}], [%4], %6; }"
                 ::"r"(shared_address(tile)), "l"(map), "r"(box.at[0]), "r"(box.at[1]), "r"(shared_address(barrier)), "r"(threadIdx.x), "l"(policy) : "memory");
    wait(barrier);
    copy_out(out, bytes);
}
extern "C" __global__ void tensor_by_global(const TensorMap *map, Box box, u32 *out, u32 bytes) {
    __shared__ u64 barrier;
    load_by(map, box, out, bytes, &barrier);
}

// The block of rank 0 loads for the blocks that the mask names.
extern "C" __global__ void __cluster_dims__(4) tensor_multicast(const __grid_constant__ TensorMap map, Box box, u32 *out, u32 bytes, u32 mask) {
    __shared__ u64 barrier;
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    for (u32 i = threadIdx.x; i < bytes / 4; i += blockDim.x) ((u32 *)tile)[i] = 0xeeeeeeee;
    if (threadIdx.x == 0) begin(&barrier, mask >> rank & 1 ? bytes : 0);
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    if (rank == 0 && threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                     ::"r"(shared_address(tile)), "l"(&map), "r"(box.at[0]), "r"(box.at[1]), "r"(shared_address(&barrier)), "h"((u16)mask) : "memory");
    if (mask >> rank & 1) wait(&barrier);
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    copy_out(out + blockIdx.x * bytes / 4, bytes);
}
