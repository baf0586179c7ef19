// arch: compute_75
// Float atomics on values whose sums are exact in any order.
#include "common.cuh"
#include <cuda_fp16.h>

extern "C" __global__ void sums(float *f, double *d, __half *h, __half2 *h2) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(f, 0.25f * (i % 8));
    atomicAdd(d, 0.125 * i);
    if (i < 64) atomicAdd(h, __float2half((float)(i % 4)));
    if (i < 64) atomicAdd(h2, __floats2half2_rn(1.0f, (float)(i % 3)));
}

extern "C" __global__ void old_values(const float *in, float *cell, float *out) {
    u32 i = threadIdx.x;
    float old;
    asm volatile("atom.global.add.f32 %0, [%1], %2;" : "=f"(old) : "l"(cell + i), "f"(in[i]) : "memory");
    double wide_old;
    asm volatile("atom.global.add.f64 %0, [%1], %2;"
                 : "=d"(wide_old)
                 : "l"((double *)(cell + 32) + i), "d"((double)in[i])
                 : "memory");
    u16 half_old;
    asm volatile("atom.global.add.noftz.f16 %0, [%1], %2;"
                 : "=h"(half_old)
                 : "l"((u16 *)(cell + 96) + i), "h"((u16)0x3C00)
                 : "memory");
    u32 pair_old;
    asm volatile("atom.global.add.noftz.f16x2 %0, [%1], %2;"
                 : "=r"(pair_old)
                 : "l"((u32 *)(cell + 112) + i), "r"(0x3C004000)
                 : "memory");
    out[4 * i] = old;
    out[4 * i + 1] = wide_old;
    out[4 * i + 2] = __half2float(__ushort_as_half(half_old));
    out[4 * i + 3] = __uint_as_float(pair_old);
}

extern "C" __global__ void shared_sums(float *out) {
    __shared__ float f;
    __shared__ double d;
    if (threadIdx.x == 0) f = 1, d = 2;
    __syncthreads();
    atomicAdd(&f, 0.5f * threadIdx.x);
    atomicAdd(&d, 0.25 * threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = f + d;
}
