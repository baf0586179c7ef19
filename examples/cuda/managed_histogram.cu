// A histogram of values in managed memory: counts in shared memory first, then in managed memory.
//
//   managed_histogram [MiB of values]
#include "check.h"

const int bins = 256;

__global__ void count(const unsigned *values, size_t length, unsigned *counts) {
    __shared__ unsigned own[bins];
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < length; i += gridDim.x * blockDim.x) {
        atomicAdd(&own[values[i] >> 24], 1u);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) atomicAdd(&counts[bin], own[bin]);
}

int main(int argc, char **argv) {
    const size_t length = (size_t(argc > 1 ? atoi(argv[1]) : 1) << 20) / sizeof(unsigned);
    unsigned *values, *counts;
    CHECK(cudaMallocManaged(&values, length * sizeof(unsigned)));
    CHECK(cudaMallocManaged(&counts, bins * sizeof(unsigned)));
    unsigned random = 5, expected[bins] = {};
    for (size_t i = 0; i < length; i++) {
        random = random * 1664525u + 1013904223u;
        values[i] = random;
        expected[random >> 24]++;
    }
    for (int bin = 0; bin < bins; bin++) counts[bin] = 0;
    count<<<432, 256>>>(values, length, counts);
    CHECK(cudaDeviceSynchronize());
    long long wrong = 0;
    for (int bin = 0; bin < bins; bin++) wrong += counts[bin] != expected[bin];
    CHECK(cudaFree(values));
    CHECK(cudaFree(counts));
    return verdict("managed_histogram", wrong, bins);
}
