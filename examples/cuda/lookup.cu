// Interpolates in a table of a function, as a texture would: read-only loads and two taps a sample, because pagemill has
// no texture units.
#include <cmath>

#include "check.h"

const int entries = 257;

__device__ __host__ inline float between(float low, float high, float fraction) {
    return low + (high - low) * fraction;
}

__global__ void sample(const float *__restrict__ table, const float *__restrict__ at, float *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float place = at[i] * (entries - 1);
    int low = min(int(place), entries - 2);
    out[i] = between(__ldg(table + low), __ldg(table + low + 1), place - low);
}

int main() {
    const int count = 20000;
    float *table, *at, *out;
    CHECK(cudaMallocManaged(&table, entries * sizeof(float)));
    CHECK(cudaMallocManaged(&at, count * sizeof(float)));
    CHECK(cudaMallocManaged(&out, count * sizeof(float)));
    for (int i = 0; i < entries; i++) table[i] = std::sin(3.0 * i / (entries - 1));
    for (int i = 0; i < count; i++) at[i] = float((i * 7919LL) % count) / count;
    sample<<<(count + 127) / 128, 128>>>(table, at, out, count);
    CHECK(cudaDeviceSynchronize());
    long long wrong = 0;
    for (int i = 0; i < count; i++) {
        // Linear interpolation in 256 steps is this good for a second derivative of at most 9.
        wrong += std::fabs(out[i] - std::sin(3.0 * at[i])) > 9.0 / 8 / 256 / 256 + 1e-6;
    }
    return verdict("lookup", wrong, count);
}
