// The same kernel on pinned and on GPU memory: the first goes over the link for every line.
#include <cstdio>

template <typename T>
__device__ void work(T *values, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = values[i] * 2 + 1;
}
__global__ void scale(float *values, int count) { work(values, count); }
__global__ void scale_pinned(float *values, int count) { work(values, count); }

int main() {
    const int count = 1 << 20;
    const size_t bytes = count * sizeof(float);
    float *pinned, *device;
    cudaMallocHost(&pinned, bytes);
    cudaMalloc(&device, bytes);
    for (int i = 0; i < count; i++) pinned[i] = i % 1000;
    cudaMemcpy(device, pinned, bytes, cudaMemcpyHostToDevice);
    scale<<<count / 256, 256>>>(device, count);
    scale_pinned<<<count / 256, 256>>>(pinned, count);
    int wrong = cudaDeviceSynchronize() != cudaSuccess;
    for (int i = 0; i < count; i++) wrong += pinned[i] != i % 1000 * 2.0f + 1;
    printf("pinned, %d wrong\n", wrong);
    return wrong != 0;
}
