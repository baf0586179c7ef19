// The second unit of parts_main.cu.
#include <cstdio>

#include "parts.cuh"

__device__ int shared_value = 1000;
__constant__ int table[4] = {1, 2, 3, 4};
static __device__ __noinline__ int helper(int x) { return x * 10000; }
__device__ Function chosen = helper;
__device__ int twice(int x) { return 2 * x; }
__device__ int Square::sides() const { return 4; }
__device__ const char *name_of_unit() { return "other"; }
__global__ void add(int *values, int by) {
    values[threadIdx.x] += by;
    if (threadIdx.x == 1) printf("two: %s\n", name_of_unit());
}
void set_shared_value(int value) { cudaMemcpyToSymbol(shared_value, &value, sizeof(value)); }
void add_on_device(int *values, int count) { add<<<1, count>>>(values, 500); }
