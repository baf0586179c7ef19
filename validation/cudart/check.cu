// Six kernels whose checked run is measured: check add|matmul|reduce|histogram|stencil|arithmetic
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

const int N = 512, TILE = 16, SIDE = 2048;

__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

__global__ void multiply(const float *a, const float *b, float *c) {
    __shared__ float x[TILE][TILE], y[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int tile = 0; tile < N / TILE; tile++) {
        x[threadIdx.y][threadIdx.x] = a[row * N + tile * TILE + threadIdx.x];
        y[threadIdx.y][threadIdx.x] = b[(tile * TILE + threadIdx.y) * N + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += x[threadIdx.y][k] * y[k][threadIdx.x];
        __syncthreads();
    }
    c[row * N + column] = sum;
}

__global__ void reduce(const float *a, float *out, int n) {
    __shared__ float part[256];
    float sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += a[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

__global__ void histogram(const unsigned char *data, unsigned *out, int n) {
    __shared__ unsigned part[256];
    part[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&part[data[i]], 1u);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], part[threadIdx.x]);
}

__global__ void scatter(unsigned char *data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = (unsigned char)(i * 2654435761u >> 24);
}

__global__ void stencil(const float *a, float *b) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, i = y * SIDE + x;
    if (x > 0 && x < SIDE - 1 && y > 0 && y < SIDE - 1)
        b[i] = 0.2f * (a[i] + a[i - 1] + a[i + 1] + a[i - SIDE] + a[i + SIDE]);
}

__global__ void arithmetic(float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i, y = 1;
    for (int k = 0; k < 400; k++) {
        x = x * 0.999f + y;
        y = y * 1.001f - 0.5f * x;
    }
    out[i] = x + y;
}

template <typename T> static T *zeros(size_t count) {
    T *memory;
    cudaMalloc(&memory, count * sizeof(T));
    cudaMemset(memory, 0, count * sizeof(T));
    return memory;
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "";
    if (!strcmp(name, "add")) {
        int n = 25 << 20;
        add<<<n / 256, 256>>>(zeros<float>(n), zeros<float>(n), zeros<float>(n), n);
    } else if (!strcmp(name, "matmul")) {
        multiply<<<dim3(N / TILE, N / TILE), dim3(TILE, TILE)>>>(zeros<float>(N * N), zeros<float>(N * N), zeros<float>(N * N));
    } else if (!strcmp(name, "reduce")) {
        reduce<<<4096, 256>>>(zeros<float>(34 << 20), zeros<float>(4096), 34 << 20);
    } else if (!strcmp(name, "histogram")) {
        unsigned char *data = zeros<unsigned char>(16 << 20);
        scatter<<<(16 << 20) / 256, 256>>>(data, 16 << 20);
        histogram<<<256, 256>>>(data, zeros<unsigned>(256), 16 << 20);
    } else if (!strcmp(name, "stencil")) {
        float *a = zeros<float>(SIDE * SIDE), *b = zeros<float>(SIDE * SIDE);
        for (int i = 0; i < 4; i++) stencil<<<dim3(SIDE / 256, SIDE), 256>>>(i % 2 ? b : a, i % 2 ? a : b);
    } else if (!strcmp(name, "arithmetic")) {
        arithmetic<<<1 << 12, 256>>>(zeros<float>(1 << 20));
    } else {
        return 2;
    }
    return cudaDeviceSynchronize() != cudaSuccess;
}
