// arch: compute_75
// Atomics without a result (red), of every operation.
#include "common.cuh"

#define RED(op, type, R, value)                                                                                      \
    asm volatile("red.global." op "." type " [%0], %1;" ::"l"(cells + k), #R(value) : "memory");                    \
    k++;

extern "C" __global__ void words(const u64 *in, u32 *cells) {
    u32 x = in[blockIdx.x * blockDim.x + threadIdx.x], k = 0;
    RED("add", "u32", r, x)
    RED("add", "s32", r, x)
    RED("min", "u32", r, x)
    RED("min", "s32", r, x)
    RED("max", "u32", r, x)
    RED("max", "s32", r, x)
    RED("inc", "u32", r, 1000)
    RED("dec", "u32", r, 1000)
    RED("and", "b32", r, x | 0xFF00FF00)
    RED("or", "b32", r, x & 0x11111111)
    RED("xor", "b32", r, x)
}

extern "C" __global__ void wide(const u64 *in, u64 *cells) {
    u64 x = in[blockIdx.x * blockDim.x + threadIdx.x];
    u32 k = 0;
    RED("add", "u64", l, x)
    RED("min", "u64", l, x)
    RED("min", "s64", l, x)
    RED("max", "u64", l, x)
    RED("max", "s64", l, x)
    RED("and", "b64", l, x | 0xFF00FF00FF00FF00ull)
    RED("or", "b64", l, x & 0x1111111111111111ull)
    RED("xor", "b64", l, x)
}

extern "C" __global__ void floats(float *cells, u32 *shared_sum) {
    __shared__ u32 sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(cells), "f"(0.5f) : "memory");
    asm volatile("red.global.add.f64 [%0], %1;" ::"l"(cells + 2), "d"(0.25) : "memory");
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(cells + 4), "r"(2) : "memory");
    asm volatile("red.add.u32 [%0], %1;" ::"l"(cells + 5), "r"(3) : "memory");
    asm volatile("red.shared.add.u32 [%0], %1;" ::"r"((u32)__cvta_generic_to_shared(&sum)), "r"(threadIdx.x) : "memory");
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(cells + 6), "r"(0x3C003C00) : "memory");
    __syncthreads();
    if (threadIdx.x == 0) *shared_sum = sum;
}
