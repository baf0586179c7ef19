// Multiplies two matrices by tiles in shared memory; pitched memory holds them.
#include "check.h"

const int tile = 16;
const int size = 96;

__global__ void multiply(const char *a, const char *b, char *c, size_t pitch, int n) {
    __shared__ float left[tile][tile];
    __shared__ float right[tile][tile];
    int column = blockIdx.x * tile + threadIdx.x, row = blockIdx.y * tile + threadIdx.y;
    float sum = 0;
    for (int at = 0; at < n; at += tile) {
        left[threadIdx.y][threadIdx.x] = ((const float *)(a + row * pitch))[at + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = ((const float *)(b + (at + threadIdx.y) * pitch))[column];
        __syncthreads();
        for (int k = 0; k < tile; k++) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    ((float *)(c + row * pitch))[column] = sum;
}

int main() {
    static float a[size][size], b[size][size], c[size][size];
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < size; k++) {
            // Small whole numbers: every sum is exact, in whatever order.
            a[i][k] = (i * 7 + k * 3) % 11 - 5;
            b[i][k] = (i * 5 + k) % 13 - 6;
        }
    }
    char *on_gpu[3];
    size_t pitch = 0;
    for (auto &matrix : on_gpu) CHECK(cudaMallocPitch((void **)&matrix, &pitch, sizeof a[0], size));
    CHECK(cudaMemcpy2D(on_gpu[0], pitch, a, sizeof a[0], sizeof a[0], size, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2D(on_gpu[1], pitch, b, sizeof b[0], sizeof b[0], size, cudaMemcpyHostToDevice));
    multiply<<<dim3(size / tile, size / tile), dim3(tile, tile)>>>(on_gpu[0], on_gpu[1], on_gpu[2], pitch, size);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy2D(c, sizeof c[0], on_gpu[2], pitch, sizeof c[0], size, cudaMemcpyDeviceToHost));
    long long wrong = 0;
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < size; k++) {
            float sum = 0;
            for (int m = 0; m < size; m++) sum += a[i][m] * b[m][k];
            wrong += c[i][k] != sum;
        }
    }
    for (auto matrix : on_gpu) CHECK(cudaFree(matrix));
    return verdict("matmul", wrong, (long long)size * size);
}
