// Interpolates in a table of a function with a texture: linear filtering between entries, coordinates from 0 to 1.
#include <cmath>

#include "check.h"

const int entries = 257;

__global__ void sample(cudaTextureObject_t table, const float *__restrict__ at, float *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // Entry k lies at (k + 1/2) / entries.
    if (i < count) out[i] = tex1D<float>(table, (at[i] * (entries - 1) + 0.5f) / entries);
}

int main() {
    const int count = 20000;
    float values[entries], *at, *out;
    for (int i = 0; i < entries; i++) values[i] = std::sin(3.0 * i / (entries - 1));
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, entries));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, values, sizeof values, sizeof values, 1, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    how.addressMode[0] = cudaAddressModeClamp;
    how.filterMode = cudaFilterModeLinear;
    how.normalizedCoords = 1;
    cudaTextureObject_t table;
    CHECK(cudaCreateTextureObject(&table, &resource, &how, nullptr));
    CHECK(cudaMallocManaged(&at, count * sizeof(float)));
    CHECK(cudaMallocManaged(&out, count * sizeof(float)));
    for (int i = 0; i < count; i++) at[i] = float((i * 7919LL) % count) / count;
    sample<<<(count + 127) / 128, 128>>>(table, at, out, count);
    CHECK(cudaDeviceSynchronize());
    long long wrong = 0;
    for (int i = 0; i < count; i++) {
        // Interpolation in 256 steps is this good for a second derivative of at most 9, and its weights have 8 bits: half
        // a step of 3 / 256.
        double slack = 9.0 / 8 / 256 / 256 + 3.0 / 256 / 512 + 1e-5;
        wrong += std::fabs(out[i] - std::sin(3.0 * at[i])) > slack;
    }
    CHECK(cudaDestroyTextureObject(table));
    CHECK(cudaFreeArray(array));
    return verdict("lookup", wrong, count);
}
