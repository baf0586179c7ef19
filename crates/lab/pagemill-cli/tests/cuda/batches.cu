// Calls of CUDA 13 that copy, prefetch and discard in batches.
#include "expect.cuh"

const int count = 1 << 16, parts = 8, part = count / parts;

__global__ void add(int *words, int value) { words[blockIdx.x * blockDim.x + threadIdx.x] += value; }

void copies(cudaStream_t stream) {
    int *host, *device;
    OK(cudaMallocHost(&host, count * sizeof(int)));
    OK(cudaMalloc(&device, count * sizeof(int)));
    for (int i = 0; i < count; i++) host[i] = i;
    void *to[parts];
    const void *from[parts];
    size_t sizes[parts];
    for (int i = 0; i < parts; i++) to[i] = device + i * part, from[i] = host + i * part, sizes[i] = part * sizeof(int);
    cudaMemcpyAttributes orders[2] = {};
    orders[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream, orders[1].srcAccessOrder = cudaMemcpySrcAccessOrderAny;
    size_t firsts[2] = {0, 5};
    OK(cudaMemcpyBatchAsync(to, from, sizes, parts, orders, firsts, 2, stream));
    add<<<count / 256, 256, 0, stream>>>(device, 1);
    for (int i = 0; i < parts; i++) to[i] = host + i * part, from[i] = device + i * part;
    OK(cudaMemcpyBatchAsync(to, from, sizes, parts, orders, firsts, 1, stream));
    OK(cudaStreamSynchronize(stream));
    int different = 0;
    for (int i = 0; i < count; i++) different += host[i] != i + 1;
    EXPECT(different == 0);
    // What is not sound copies nothing.
    firsts[0] = 1;
    EXPECT(cudaMemcpyBatchAsync(to, from, sizes, parts, orders, firsts, 2, stream) == cudaErrorInvalidValue);
    firsts[0] = 0, firsts[1] = parts;
    EXPECT(cudaMemcpyBatchAsync(to, from, sizes, parts, orders, firsts, 2, stream) == cudaErrorInvalidValue);
    orders[0].srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    EXPECT(cudaMemcpyBatchAsync(to, from, sizes, parts, orders, firsts, 1, stream) == cudaErrorInvalidValue);
    EXPECT(cudaMemcpyBatchAsync(to, from, sizes, 0, orders, firsts, 1, stream) == cudaErrorInvalidValue);
    OK(cudaFreeHost(host));
    OK(cudaFree(device));
}

int prefetched_to(int *words) {
    int last = -7, mostly = -7;
    void *values[2] = {&last, &mostly};
    size_t sizes[2] = {sizeof last, sizeof mostly};
    cudaMemRangeAttribute attributes[2] = {cudaMemRangeAttributeLastPrefetchLocation, cudaMemRangeAttributeReadMostly};
    OK(cudaMemRangeGetAttributes(values, sizes, attributes, 2, words, count * sizeof(int)));
    EXPECT(mostly == 0);
    return last;
}

void pages(cudaStream_t stream) {
    cudaMemLocation places[2] = {{cudaMemLocationTypeDevice, 0}, {cudaMemLocationTypeHost, 0}};
    int *words[3];
    size_t sizes[3], firsts[2] = {0, 2};
    for (int i = 0; i < 3; i++) {
        OK(cudaMallocManaged(&words[i], count * sizeof(int)));
        sizes[i] = count * sizeof(int);
        for (int j = 0; j < count; j++) words[i][j] = j;
    }
    OK(cudaMemPrefetchBatchAsync((void **)words, sizes, 3, places, firsts, 2, 0, stream));
    for (int *each : words) add<<<count / 256, 256, 0, stream>>>(each, 1);
    OK(cudaStreamSynchronize(stream));
    EXPECT(prefetched_to(words[0]) == 0 && prefetched_to(words[1]) == 0 && prefetched_to(words[2]) == cudaCpuDeviceId);
    // What is discarded may have any value.
    OK(cudaMemDiscardBatchAsync((void **)words, sizes, 1, 0, stream));
    OK(cudaMemDiscardAndPrefetchBatchAsync((void **)words, sizes, 1, &places[1], firsts, 1, 0, stream));
    OK(cudaStreamSynchronize(stream));
    int different = 0;
    for (int j = 0; j < count; j++) different += words[1][j] != j + 1 || words[2][j] != j + 1;
    EXPECT(different == 0 && prefetched_to(words[0]) == cudaCpuDeviceId);
    EXPECT(cudaMemPrefetchBatchAsync((void **)words, sizes, 3, places, firsts, 2, 1, stream) == cudaErrorInvalidValue);
    int local;
    void *outside = &local;
    EXPECT(cudaMemDiscardBatchAsync(&outside, sizes, 1, 0, stream) == cudaErrorInvalidValue);
    for (int *each : words) OK(cudaFree(each));
}

int main() {
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    copies(stream);
    pages(stream);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
