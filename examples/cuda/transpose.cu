// Transposes a square matrix in managed memory by tiles in shared memory.
//
//   transpose [MiB of the matrix]
#include <cmath>

#include "check.h"

const int tile = 32, rows = 8;

__global__ void transpose(const float *in, float *out, int side) {
    // A column more keeps the threads of a warp in different banks.
    __shared__ float block[tile][tile + 1];
    int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
    for (int i = 0; i < tile; i += rows) {
        if (x < side && y + i < side) block[threadIdx.y + i][threadIdx.x] = in[size_t(y + i) * side + x];
    }
    __syncthreads();
    x = blockIdx.y * tile + threadIdx.x, y = blockIdx.x * tile + threadIdx.y;
    for (int i = 0; i < tile; i += rows) {
        if (x < side && y + i < side) out[size_t(y + i) * side + x] = block[threadIdx.x][threadIdx.y + i];
    }
}

int main(int argc, char **argv) {
    const size_t mebibytes = argc > 1 ? atoi(argv[1]) : 1;
    const int side = int(std::sqrt(double(mebibytes << 18)));
    const size_t cells = size_t(side) * side;
    float *in, *out;
    CHECK(cudaMallocManaged(&in, cells * sizeof(float)));
    CHECK(cudaMallocManaged(&out, cells * sizeof(float)));
    for (size_t i = 0; i < cells; i++) in[i] = float(i % 65536);
    const int tiles = (side + tile - 1) / tile;
    transpose<<<dim3(tiles, tiles), dim3(tile, rows)>>>(in, out, side);
    CHECK(cudaDeviceSynchronize());
    long long wrong = 0;
    for (int y = 0; y < side; y++) {
        for (int x = 0; x < side; x++) wrong += out[size_t(x) * side + y] != in[size_t(y) * side + x];
    }
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    return verdict("transpose", wrong, cells);
}
