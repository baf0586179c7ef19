// Three arrays: one that the CPU fills and the GPU reads in every launch, one that only the GPU writes, one that no kernel uses.
//
//   walk MiB [HINT]
//
// HINT gives one hint for the first array by hand: 1 read mostly, 2 stay on the CPU, 3 prefer the GPU, 4 prefetch. With t the
// simulated time is printed, with x the exit code depends on the time.
#include "../../../../examples/cuda/check.h"

__global__ void walk(const unsigned *in, unsigned *out, size_t count) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count) out[i / 2] = in[i] + 1;
}

int main(int argc, char **argv) {
    const size_t bytes = (size_t)atoi(argv[1]) << 20, count = bytes / 4;
    const char hint = argc > 2 ? argv[2][0] : '0';
    unsigned *in, *out, *rest;
    CHECK(cudaMallocManaged(&in, bytes));
    cudaMemLocation gpu = {cudaMemLocationTypeDevice, 0}, cpu = {cudaMemLocationTypeHost, 0};
    if (hint == '1') CHECK(cudaMemAdvise(in, bytes, cudaMemAdviseSetReadMostly, gpu));
    if (hint == '2') CHECK(cudaMemAdvise(in, bytes, cudaMemAdviseSetPreferredLocation, cpu));
    if (hint == '2') CHECK(cudaMemAdvise(in, bytes, cudaMemAdviseSetAccessedBy, gpu));
    if (hint == '3') CHECK(cudaMemAdvise(in, bytes, cudaMemAdviseSetPreferredLocation, gpu));
    CHECK(cudaMallocManaged(&out, bytes / 2));
    CHECK(cudaMallocManaged(&rest, bytes / 2));
    for (size_t i = 0; i < count; i++) in[i] = unsigned(i);
    for (size_t i = 0; i < count / 2; i++) rest[i] = unsigned(i);
    if (hint == '4') CHECK(cudaMemPrefetchAsync(in, bytes, gpu, 0, 0));
    walk<<<(count + 255) / 256, 256>>>(in, out, count);
    walk<<<(count + 255) / 256, 256>>>(in, out, count);
    CHECK(cudaDeviceSynchronize());
    long long wrong = 0;
    for (size_t i = 0; i < count / 2; i++) wrong += out[i] != 2 * i + 1 && out[i] != 2 * i + 2;
    cudaEvent_t end;
    CHECK(cudaEventCreate(&end));
    cudaEvent_t start;
    CHECK(cudaEventCreate(&start));
    if (hint == 't') {
        CHECK(cudaEventRecord(start));
        walk<<<(count + 255) / 256, 256>>>(in, out, count);
        CHECK(cudaEventRecord(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, start, end));
        printf("time: %f ms\n", ms);
    }
    return verdict("walk", wrong, count / 2);
}
