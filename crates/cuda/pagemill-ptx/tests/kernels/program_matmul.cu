// arch: compute_75
// Tiled matrix product in single precision.
#include "common.cuh"

#define TILE 16

extern "C" __global__ void matmul(const float *a, const float *b, float *c, u32 n) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    u32 x = threadIdx.x, y = threadIdx.y;
    u32 row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (u32 k = 0; k < n; k += TILE) {
        as[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0;
        bs[y][x] = column < n && k + y < n ? b[(k + y) * n + column] : 0;
        __syncthreads();
        for (u32 j = 0; j < TILE; j++) sum = fmaf(as[y][j], bs[j][x], sum);
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}
