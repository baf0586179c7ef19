// Two translation units, linked on the device: functions, variables, constants, a table of functions, a class with
// virtual functions and a kernel of the other unit; each has a static function and a string of the same name.
#include <cstdio>

#include "parts.cuh"

static __device__ __noinline__ int helper(int x) { return x * 3; }

__global__ void use(int *out) {
    int t = threadIdx.x;
    Square square(t);
    const Shape *shape = &square;
    out[t] = twice(t) + shared_value + table[t % 4] + chosen(t) + helper(t) + shape->area() + shape->sides();
    if (t == 0) printf("one: %s\n", name_of_unit());
}

int main() {
    int *device = nullptr, out[32], wrong = 0;
    cudaMalloc((void **)&device, sizeof(out));
    use<<<1, 32>>>(device);
    cudaMemcpy(out, device, sizeof(out), cudaMemcpyDeviceToHost);
    for (int t = 0; t < 32; t++) {
        int wanted = 2 * t + 1000 + t % 4 + 1 + t * 10000 + 3 * t + t * t + 4;
        if (out[t] != wanted) printf("%d: %d and not %d\n", t, out[t], wanted), wrong++;
    }
    set_shared_value(7);
    use<<<1, 32>>>(device);
    add_on_device(device, 32);
    cudaMemcpy(out, device, sizeof(out), cudaMemcpyDeviceToHost);
    for (int t = 0; t < 32; t++) {
        int wanted = 2 * t + 7 + t % 4 + 1 + t * 10000 + 3 * t + t * t + 4 + 500;
        if (out[t] != wanted) printf("%d: %d and not %d\n", t, out[t], wanted), wrong++;
    }
    printf("parts, %d wrong, %s\n", wrong, cudaGetErrorString(cudaDeviceSynchronize()));
}
