#pragma once

// y = a x + y, and the sum of each block of `y`.
__global__ void saxpy(int n, float a, const float *x, float *y, float *sums) {
    __shared__ float partial[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = 0;
    if (i < n) value = y[i] = a * x[i] + y[i];
    partial[threadIdx.x] = value;
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
#ifndef WITHOUT_BARRIER
        __syncthreads();
#endif
        if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}
