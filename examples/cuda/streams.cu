// Copies and computes in four streams: while one chunk is computed, the next is on the link. Events measure the time.
#include "check.h"

__global__ void scale(float *values, int count, float factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = values[i] * factor + 1.0f;
}

const int streams = 4;
const int chunk = 16384;

// Milliseconds for all chunks, dealt to the first `used` streams.
static float run(cudaStream_t *stream, int used, float *host, float *device) {
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventRecord(start));
    for (int i = 0; i < streams; i++) {
        cudaStream_t own = stream[i % used];
        float *from = host + i * chunk, *to = device + i * chunk;
        CHECK(cudaMemcpyAsync(to, from, chunk * sizeof(float), cudaMemcpyHostToDevice, own));
        scale<<<chunk / 256, 256, 0, own>>>(to, chunk, 2.0f);
        CHECK(cudaMemcpyAsync(from, to, chunk * sizeof(float), cudaMemcpyDeviceToHost, own));
    }
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float elapsed = 0;
    CHECK(cudaEventElapsedTime(&elapsed, start, stop));
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    return elapsed;
}

int main() {
    const int count = streams * chunk;
    float *host, *device;
    CHECK(cudaMallocHost(&host, count * sizeof(float)));
    CHECK(cudaMalloc(&device, count * sizeof(float)));
    for (int i = 0; i < count; i++) host[i] = i % 1000;
    cudaStream_t stream[streams];
    for (auto &one : stream) CHECK(cudaStreamCreate(&one));
    float alone = run(stream, 1, host, device);
    float together = run(stream, streams, host, device);
    for (auto one : stream) CHECK(cudaStreamDestroy(one));
    long long wrong = 0;
    for (int i = 0; i < count; i++) wrong += host[i] != (i % 1000 * 2.0f + 1.0f) * 2.0f + 1.0f;
    // Overlap is what the example is about.
    wrong += together >= alone;
    printf("four streams take %.0f %% of the time of one\n", 100 * together / alone);
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
    return verdict("streams", wrong, count + 1);
}
