// Times of kernels that do not page: copies, a stencil, many tiny blocks, and one thread that adds two arrays.
#include "../../examples/cuda/check.h"

const int width = 4096;
const size_t count = size_t(width) * width;
const int added = 1 << 17;

__global__ void copy(const float *in, float *out) {
    const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    out[i] = 2 * in[i];
}

__global__ void stencil(const float *in, float *out) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, at = y * width + x;
    if (x > 0 && y > 0 && x < width - 1 && y < width - 1)
        out[at] = in[at] + in[at - 1] + in[at + 1] + in[at - width] + in[at + width];
}

__global__ void tiny(float *out) {
    if (threadIdx.x == 33) out[blockIdx.x] = 1;
}

__global__ void add(const float *in, float *out) {
    for (int i = 0; i < added; i++) out[i] = in[i] + out[i];
}

template <typename Launch> float time_of(const char *name, Launch launch) {
    cudaEvent_t start, stop;
    float milliseconds;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start));
    launch();
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    printf("%-8s %9.4f ms\n", name, milliseconds);
    return milliseconds;
}

int main() {
    float *in, *out;
    CHECK(cudaMalloc(&in, count * sizeof(float)));
    CHECK(cudaMalloc(&out, count * sizeof(float)));
    CHECK(cudaMemset(in, 0, count * sizeof(float)));
    CHECK(cudaMemset(out, 0, count * sizeof(float)));
    time_of("copy", [&] { copy<<<count / 256, 256>>>(in, out); });
    time_of("stencil", [&] { stencil<<<dim3(width / 32, width / 8), dim3(32, 8)>>>(in, out); });
    time_of("tiny", [&] { tiny<<<65536, 32>>>(out); });
    const float milliseconds = time_of("add", [&] { add<<<1, 1>>>(in, out); });
    printf("%.0f ms for 2^20 additions of one thread\n", milliseconds * (1 << 20) / added);
}
