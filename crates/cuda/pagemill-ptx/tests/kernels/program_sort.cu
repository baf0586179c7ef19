// arch: compute_75
// Bitonic sort of one block's keys, prefix sums of a block, and a radix histogram.
#include "common.cuh"

extern "C" __global__ void sort(u64 *keys) {
    __shared__ u64 tile[256];
    u32 t = threadIdx.x;
    tile[t] = keys[blockIdx.x * 256 + t];
    for (u32 size = 2; size <= 256; size *= 2) {
        for (u32 step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            u32 peer = t ^ step;
            if (peer > t) {
                bool up = (t & size) == 0;
                u64 a = tile[t], b = tile[peer];
                if ((a > b) == up) tile[t] = b, tile[peer] = a;
            }
        }
    }
    __syncthreads();
    keys[blockIdx.x * 256 + t] = tile[t];
}

extern "C" __global__ void scan(const u32 *in, u32 *out) {
    __shared__ u32 tile[2][128];
    u32 t = threadIdx.x, from = 0;
    tile[0][t] = in[t];
    for (u32 step = 1; step < 128; step *= 2) {
        __syncthreads();
        tile[1 - from][t] = tile[from][t] + (t >= step ? tile[from][t - step] : 0);
        from = 1 - from;
    }
    out[t] = tile[from][t];
}

extern "C" __global__ void histogram(const u8 *in, u32 *bins, u32 n) {
    __shared__ u32 mine[256];
    for (u32 k = threadIdx.x; k < 256; k += blockDim.x) mine[k] = 0;
    __syncthreads();
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[in[i]], 1);
    __syncthreads();
    for (u32 k = threadIdx.x; k < 256; k += blockDim.x) atomicAdd(&bins[k], mine[k]);
}
