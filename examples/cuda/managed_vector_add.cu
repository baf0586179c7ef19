// Adds two vectors in managed memory: the CPU writes the inputs, the GPU adds, the CPU reads the sums in place.
#include "check.h"

__global__ void add(const float *a, const float *b, float *sum, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) sum[i] = a[i] + b[i];
}

int main() {
    const int count = 100000;
    float *a, *b, *sum;
    CHECK(cudaMallocManaged(&a, count * sizeof(float)));
    CHECK(cudaMallocManaged(&b, count * sizeof(float)));
    CHECK(cudaMallocManaged(&sum, count * sizeof(float)));
    for (int i = 0; i < count; i++) {
        a[i] = 0.5f * i;
        b[i] = 3.0f - i;
    }
    add<<<(count + 255) / 256, 256>>>(a, b, sum, count);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    long long wrong = 0;
    for (int i = 0; i < count; i++) wrong += sum[i] != a[i] + b[i];
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(sum));
    return verdict("managed_vector_add", wrong, count);
}
