// Memory of the GPU, which may be more than it has: two arrays, by cudaMalloc and by a pool, that copies, fills and kernels use.
//
//   larger MIB [beyond | handles]
#include <cstring>

#include "../../../../../examples/cuda/check.h"

// A word of every 128 bytes is enough to move all of them.
const size_t stride = 32;

__global__ void advance(unsigned *words, size_t count, unsigned by) {
    size_t i = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) * stride;
    if (i < count) words[i] = words[i] * 3 + by;
}

static unsigned *from_pool(size_t bytes) {
    void *memory;
    CHECK(cudaMallocAsync(&memory, bytes, nullptr));
    return (unsigned *)memory;
}

static void show_handles(unsigned *words) {
    cudaIpcMemHandle_t handle;
    printf("memory: %s\n", cudaGetErrorName(cudaIpcGetMemHandle(&handle, words)));
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    properties.location = {cudaMemLocationTypeDevice, 0};
    cudaMemPool_t pool;
    printf("pool: %s\n", cudaGetErrorName(cudaMemPoolCreate(&pool, &properties)));
    printf("peer: %s\n", cudaGetErrorName(cudaDeviceEnablePeerAccess(1, 0)));
}

int main(int argc, char **argv) {
    const size_t count = ((size_t)atoi(argv[1]) << 20) / sizeof(unsigned), bytes = count * sizeof(unsigned);
    const unsigned blocks = (count / stride + 256) / 256;
    unsigned *a, *b = from_pool(bytes), *host = (unsigned *)malloc(bytes);
    CHECK(cudaMalloc((void **)&a, bytes));
    for (size_t i = 0; i < count; i++) host[i] = i;
    CHECK(cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(b, 0, bytes));
    const bool is_beyond = argc > 2 && !strcmp(argv[2], "beyond");
    advance<<<blocks, 256>>>(b, is_beyond ? count + stride : count, 7);
    advance<<<blocks, 256>>>(a, count, 1);
    // b is 3 (3 i + 1) + 7.
    CHECK(cudaMemcpy(b, a, bytes, cudaMemcpyDeviceToDevice));
    advance<<<blocks, 256>>>(b, count, 7);
    advance<<<blocks, 256>>>(a, count, 2);
    CHECK(cudaDeviceSynchronize());
    long long wrong = 0;
    CHECK(cudaMemcpy(host, b, bytes, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < count; i += stride) wrong += host[i] != (unsigned(i) * 3 + 1) * 3 + 7;
    CHECK(cudaMemcpy(host, a, bytes, cudaMemcpyDefault));
    for (size_t i = 0; i < count; i += stride) wrong += host[i] != (unsigned(i) * 3 + 1) * 3 + 2;
    if (argc > 2 && !strcmp(argv[2], "handles")) show_handles(a);
    CHECK(cudaFreeAsync(b, nullptr));
    CHECK(cudaFree(a));
    return verdict("larger", wrong, 2 * count / stride);
}
