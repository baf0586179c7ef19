// Counts bytes with atomics in shared and global memory; the counts are a __device__ variable.
#include <vector>

#include "check.h"

const int bins = 256;
__device__ unsigned counts[bins];
__constant__ unsigned char mask;

__global__ void count(const unsigned char *bytes, int length) {
    __shared__ unsigned own[bins];
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < length; i += gridDim.x * blockDim.x) {
        atomicAdd(&own[bytes[i] & mask], 1u);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) atomicAdd(&counts[bin], own[bin]);
}

int main() {
    const int length = 60000;
    const unsigned char keep = 0x7f;
    std::vector<unsigned char> bytes(length);
    unsigned random = 1, expected[bins] = {}, found[bins];
    for (auto &byte : bytes) {
        random = random * 1664525u + 1013904223u;
        byte = random >> 24;
        expected[byte & keep]++;
    }
    unsigned char *on_gpu;
    CHECK(cudaMalloc(&on_gpu, length));
    CHECK(cudaMemcpy(on_gpu, bytes.data(), length, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbol(mask, &keep, sizeof keep));
    count<<<8, 128>>>(on_gpu, length);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyFromSymbol(found, counts, sizeof found));
    long long wrong = 0;
    for (int bin = 0; bin < bins; bin++) wrong += found[bin] != expected[bin];
    CHECK(cudaFree(on_gpu));
    return verdict("histogram", wrong, bins);
}
