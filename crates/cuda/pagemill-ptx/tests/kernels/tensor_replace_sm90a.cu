// arch: compute_90a
// Kernels that change a tensor map in shared memory, copy it to global memory, and load by it.
#include "common.cuh"

struct alignas(128) TensorMap { u64 words[16]; };
extern __shared__ __align__(1024) unsigned char tile[];

__device__ u32 shared_address(const void *at) { return (u32)__cvta_generic_to_shared(at); }

#define REPLACE(field, type, letter, value)                                                                                     \
    asm volatile("tensormap.replace.tile." field ".b1024." type " [%0], %1;" ::"r"(at), letter(value) : "memory")
#define REPLACE_OF(field, number, type, letter, value)                                                                          \
    asm volatile("tensormap.replace.tile." field ".b1024." type " [%0], " #number ", %1;" ::"r"(at), letter(value) : "memory")

// Any map becomes one of a matrix of 32-bit words of that pitch and size; the box is 16 by 8.
extern "C" __global__ void tensor_replace(const TensorMap *from, TensorMap *scratch, const u32 *matrix, u64 pitch, u32 columns,
                                          u32 rows, u32 swizzle, u32 *out) {
    __shared__ TensorMap map;
    __shared__ u64 barrier;
    u32 t = threadIdx.x, at = shared_address(&map);
    if (t < 16) map.words[t] = from->words[t];
    __syncwarp();
    if (t == 0) {
        REPLACE("global_address.shared::cta", "b64", "l", matrix);
        REPLACE("rank.shared::cta", "b32", "r", 1);
        REPLACE("elemtype.shared::cta", "b32", "n", 2);
        REPLACE("interleave_layout.shared::cta", "b32", "n", 0);
        REPLACE("fill_mode.shared::cta", "b32", "n", 0);
        if (swizzle) REPLACE("swizzle_mode.shared::cta", "b32", "n", 2);
        else REPLACE("swizzle_mode.shared::cta", "b32", "n", 0);
        REPLACE_OF("box_dim.shared::cta", 0, "b32", "r", 16);
        REPLACE_OF("box_dim.shared::cta", 1, "b32", "r", 8);
        REPLACE_OF("global_dim.shared::cta", 0, "b32", "r", columns);
        REPLACE_OF("global_dim.shared::cta", 1, "b32", "r", rows);
        REPLACE_OF("global_stride.shared::cta", 0, "b64", "l", pitch);
        REPLACE_OF("element_stride.shared::cta", 0, "b32", "r", 1);
        REPLACE_OF("element_stride.shared::cta", 1, "b32", "r", 1);
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(shared_address(&barrier)) : "memory");
    }
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;"
                 ::"l"(scratch), "r"(at) : "memory");
    __syncwarp();
    if (t == 0) {
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(scratch) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                     ::"r"(shared_address(tile)), "l"(scratch), "r"(4), "r"(1), "r"(shared_address(&barrier)) : "memory");
    }
    __syncthreads();
    u32 done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared_address(&barrier)) : "memory");
    } while (!done);
    for (u32 i = t; i < 128; i += blockDim.x) out[i] = ((const u32 *)tile)[i];
}
