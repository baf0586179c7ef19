// Blocks of a cooperative launch that meet by the functions of the device runtime.
#include <cstdio>

__global__ void meet(int *parts, int *total) {
    unsigned long long grid = cudaCGGetIntrinsicHandle(cudaCGScopeGrid);
    unsigned threads = 0, grids = 0, rank = 0, own = 1;
    cudaCGGetSize(&threads, &grids, grid);
    cudaCGGetRank(&rank, &own, grid);
    bool right = grids == 1 && own == 0 && threads == gridDim.x * blockDim.x && rank == blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 1; round <= 3; round++) {
        if (threadIdx.x == 0) parts[blockIdx.x] = round;
        right &= cudaCGSynchronize(grid, 0) == cudaSuccess;
        right &= ((volatile int *)parts)[(blockIdx.x + 1) % gridDim.x] == round;
        right &= cudaCGSynchronize(grid, 0) == cudaSuccess;
    }
    if (right) atomicAdd(total, 1);
}

// Blocks that cannot meet have no handle.
__global__ void alone(int *total) {
    unsigned long long grid = cudaCGGetIntrinsicHandle(cudaCGScopeGrid);
    if (grid == 0 && cudaCGSynchronize(grid, 0) != cudaSuccess) atomicAdd(total, 1);
}

int main() {
    int blocks = 30, wrong = 0, *parts, *total;
    cudaMallocManaged(&parts, 4096);
    cudaMallocManaged(&total, sizeof(int));
    *total = 0;
    void *arguments[] = {&parts, &total};
    wrong += cudaLaunchCooperativeKernel((void *)meet, blocks, 64, arguments, 0, nullptr) != cudaSuccess;
    wrong += cudaDeviceSynchronize() != cudaSuccess || *total != 64 * blocks;
    *total = 0;
    alone<<<2, 32>>>(total);
    wrong += cudaDeviceSynchronize() != cudaSuccess || *total != 64;
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
