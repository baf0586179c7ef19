// A batch of rows times a large matrix in managed memory, by tiles in shared memory.
//
//   managed_matmul [MiB of the matrix]
#include <vector>

#include "check.h"

const int tile = 16, batch = 32, depth = 1024;

__global__ void multiply(const float *a, const float *b, float *c, int columns) {
    __shared__ float left[tile][tile];
    __shared__ float right[tile][tile];
    const int column = blockIdx.x * tile + threadIdx.x, row = blockIdx.y * tile + threadIdx.y;
    float sum = 0;
    for (int at = 0; at < depth; at += tile) {
        left[threadIdx.y][threadIdx.x] = a[row * depth + at + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[size_t(at + threadIdx.y) * columns + column];
        __syncthreads();
        for (int k = 0; k < tile; k++) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    c[size_t(row) * columns + column] = sum;
}

int main(int argc, char **argv) {
    const size_t bytes = size_t(argc > 1 ? atoi(argv[1]) : 1) << 20;
    const int columns = int(bytes / (depth * sizeof(float)));
    float *a, *b, *c;
    CHECK(cudaMallocManaged(&a, batch * depth * sizeof(float)));
    CHECK(cudaMallocManaged(&b, size_t(depth) * columns * sizeof(float)));
    CHECK(cudaMallocManaged(&c, size_t(batch) * columns * sizeof(float)));
    // Small whole numbers: every sum is exact, in whatever order.
    for (int i = 0; i < batch * depth; i++) a[i] = float(i * 7 % 11) - 5;
    for (size_t i = 0; i < size_t(depth) * columns; i++) b[i] = float(i * 5 % 13) - 6;

    multiply<<<dim3(columns / tile, batch / tile), dim3(tile, tile)>>>(a, b, c, columns);
    CHECK(cudaDeviceSynchronize());

    long long wrong = 0;
    std::vector<float> sums(columns);
    for (int row = 0; row < batch; row++) {
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (int k = 0; k < depth; k++) {
            for (int column = 0; column < columns; column++) sums[column] += a[row * depth + k] * b[size_t(k) * columns + column];
        }
        for (int column = 0; column < columns; column++) wrong += c[size_t(row) * columns + column] != sums[column];
    }
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
    return verdict("managed_matmul", wrong, (long long)batch * columns);
}
