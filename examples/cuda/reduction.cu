// Sums a vector with warp shuffles, a template for each element type, one atomic for each block.
#include "check.h"

template <typename T>
__global__ void sum(const T *values, int count, T *total) {
    T own = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) own += values[i];
    for (int offset = 16; offset > 0; offset /= 2) own += __shfl_down_sync(0xffffffff, own, offset);
    __shared__ T warps[32];
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x < 32) {
        own = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : T(0);
        for (int offset = 16; offset > 0; offset /= 2) own += __shfl_down_sync(0xffffffff, own, offset);
        if (threadIdx.x == 0) atomicAdd(total, own);
    }
}

template <typename T>
static int wrong(int count) {
    T *values, *total, expected = 0;
    CHECK(cudaMallocManaged(&values, count * sizeof(T)));
    CHECK(cudaMallocManaged(&total, sizeof(T)));
    for (int i = 0; i < count; i++) expected += values[i] = T(i % 17);
    *total = 0;
    int blocks = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum<T>, 256, 0));
    sum<T><<<blocks, 256>>>(values, count, total);
    CHECK(cudaDeviceSynchronize());
    int differs = *total != expected;
    CHECK(cudaFree(values));
    CHECK(cudaFree(total));
    return differs;
}

int main() {
    const int count = 50000;
    return verdict("reduction", wrong<int>(count) + wrong<float>(count) + wrong<double>(count), 3);
}
