// Managed variables: initial values, and both sides seeing what the other wrote.
#include <cstdio>

__managed__ int counter = 41;
__device__ __managed__ double table[300] = {1.5, 2.5};
__managed__ int *pointer;
__device__ int plain = 5;

__global__ void bump(int *to) {
    int i = threadIdx.x;
    table[i] += i;
    if (i == 0) counter += plain, *pointer = 9, *to = counter;
}

int main() {
    int wrong = counter != 41, copied = 0, *result;
    cudaMallocManaged(&result, sizeof(int));
    cudaMallocManaged(&pointer, sizeof(int));
    counter++;
    bump<<<1, 300>>>(result);
    cudaError_t status = cudaDeviceSynchronize();
    wrong += status != cudaSuccess || counter != 47 || *result != 47 || *pointer != 9;
    wrong += table[0] != 1.5 || table[1] != 3.5 || table[299] != 299;
    status = cudaMemcpyFromSymbol(&copied, counter, sizeof copied);
    wrong += status != cudaSuccess || copied != 47;
    printf("%s, %d wrong\n", cudaGetErrorName(status), wrong);
    return wrong != 0;
}
