// Holds memory: MiB of cudaMalloc, MiB of managed memory twice, one after the other, and ends with an exit code.
//
//   holds DEVICE_MIB MANAGED_MIB [EXIT_CODE]
#include "../../../../../examples/cuda/check.h"

__global__ void touch(char *bytes, size_t count) {
    size_t i = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) * 4096;
    if (i < count) bytes[i] += 1;
}

int main(int argc, char **argv) {
    const size_t device_bytes = (size_t)atoi(argv[1]) << 20, managed_bytes = (size_t)atoi(argv[2]) << 20;
    CHECK(cudaFree(nullptr));
    void *fixed = nullptr;
    if (device_bytes > 0) CHECK(cudaMalloc(&fixed, device_bytes));
    for (int round = 0; round < 2 && managed_bytes > 0; round++) {
        char *bytes;
        CHECK(cudaMallocManaged(&bytes, managed_bytes));
        for (size_t i = 0; i < managed_bytes; i += 4096) bytes[i] = 1;
        touch<<<(managed_bytes / 4096 + 127) / 128, 128>>>(bytes, managed_bytes);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaFree(bytes));
    }
    fprintf(stderr, "held it\n");
    return argc > 3 ? atoi(argv[3]) : 0;
}
