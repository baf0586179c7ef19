// Streams over managed memory that may be larger than the GPU's: a pass of the GPU, one of the CPU, one of the GPU.
//
//   oversubscribed [MiB]
#include "check.h"

// A word of every 128 bytes is enough to move all of them.
const size_t stride = 32;

__global__ void advance(unsigned *words, size_t count) {
    size_t i = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) * stride;
    if (i < count) words[i] = words[i] * 3 + 1;
}

int main(int argc, char **argv) {
    const size_t mebibytes = argc > 1 ? atoi(argv[1]) : 64;
    const size_t count = mebibytes * ((1 << 20) / sizeof(unsigned));
    size_t free_bytes = 0, total_bytes = 0;
    CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    printf("%zu MiB of managed memory on a GPU of %zu MiB\n", mebibytes, total_bytes >> 20);
    unsigned *words;
    CHECK(cudaMallocManaged(&words, count * sizeof(unsigned)));
    const unsigned blocks = (count / stride + 255) / 256;
    for (size_t i = 0; i < count; i += stride) words[i] = unsigned(i);
    advance<<<blocks, 256>>>(words, count);
    CHECK(cudaDeviceSynchronize());
    for (size_t i = 0; i < count; i += stride) words[i] += 5;
    advance<<<blocks, 256>>>(words, count);
    CHECK(cudaDeviceSynchronize());
    long long wrong = 0;
    for (size_t i = 0; i < count; i += stride) wrong += words[i] != (unsigned(i) * 3 + 6) * 3 + 1;
    CHECK(cudaFree(words));
    return verdict("oversubscribed", wrong, count / stride);
}
