// arch: compute_75
// Variables of the module: constants, initialized and zeroed globals, tables of pointers.
#include "common.cuh"

__constant__ float weights[5] = {0.5f, -1.25f, 3.0f, 1e-3f, 1e20f};
__constant__ u16 matrix[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10}};
__constant__ double precise = 2.718281828459045;
__device__ u32 counter = 41;
__device__ u32 zeroed[8];
__device__ u8 letters[6] = {'p', 'a', 'g', 'e', 's', 0};
__device__ u32 *pointers[3] = {&counter, zeroed + 2, zeroed + 5};
struct Node {
    s16 key;
    const Node *next;
};
__device__ Node tail = {-7, nullptr};
__device__ Node list = {12, &tail};

extern "C" __global__ void constants(float *out, u32 *sums) {
    u32 t = threadIdx.x;
    out[t] = weights[t % 5] * 2.0f;
    sums[t] = matrix[t % 3][t % 4] + (u32)(precise * t) + matrix[2][3];
}

extern "C" __global__ void variables(u32 *out) {
    u32 t = threadIdx.x;
    if (t == 0) {
        *pointers[1] = 5;
        *pointers[2] = 6;
        counter += 1;
    }
    __syncthreads();
    out[t] = t < 8 ? zeroed[t] : t < 14 ? letters[t - 8] : counter;
}

// Counts how often the kernel ran: the module's memory outlives a launch.
extern "C" __global__ void count(u32 *out) { out[threadIdx.x] = *pointers[0] + zeroed[2]; }

extern "C" __global__ void walk(s32 *out) {
    s32 sum = 0;
    for (const Node *node = &list; node != nullptr; node = node->next) sum = sum * 100 + node->key;
    out[threadIdx.x] = sum;
}
