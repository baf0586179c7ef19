// A five-point stencil in managed memory: the CPU sets a square grid up, the GPU smooths it several times from one array into the
// other.
//
//   stencil [MiB of each array]
#include <cmath>
#include <utility>
#include <vector>

#include "check.h"

const int steps = 4;

__global__ void smooth(const float *from, float *to, int side) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= side || y >= side) return;
    int i = y * side + x;
    if (x == 0 || y == 0 || x == side - 1 || y == side - 1) {
        to[i] = from[i];
        return;
    }
    to[i] = 0.25f * (from[i - 1] + from[i + 1] + from[i - side] + from[i + side]);
}

int main(int argc, char **argv) {
    const size_t mebibytes = argc > 1 ? atoi(argv[1]) : 1;
    const int side = int(std::sqrt(double(mebibytes << 18)));
    const size_t cells = size_t(side) * side;
    float *now, *next;
    CHECK(cudaMallocManaged(&now, cells * sizeof(float)));
    CHECK(cudaMallocManaged(&next, cells * sizeof(float)));
    for (size_t i = 0; i < cells; i++) now[i] = float(i * 7 % 1024);
    std::vector<float> expected(now, now + cells), other(cells);

    const dim3 block(32, 8), grid((side + 31) / 32, (side + 7) / 8);
    float *from = now, *to = next;
    for (int step = 0; step < steps; step++) {
        smooth<<<grid, block>>>(from, to, side);
        std::swap(from, to);
    }
    CHECK(cudaDeviceSynchronize());

    for (int step = 0; step < steps; step++) {
        for (int y = 0; y < side; y++) {
            for (int x = 0; x < side; x++) {
                const size_t i = size_t(y) * side + x;
                const bool edge = x == 0 || y == 0 || x == side - 1 || y == side - 1;
                const auto &e = expected;
                other[i] = edge ? e[i] : 0.25f * (e[i - 1] + e[i + 1] + e[i - side] + e[i + side]);
            }
        }
        std::swap(expected, other);
    }
    long long wrong = 0;
    for (size_t i = 0; i < cells; i++) wrong += from[i] != expected[i];
    CHECK(cudaFree(now));
    CHECK(cudaFree(next));
    return verdict("stencil", wrong, cells);
}
