// Blocks that wait for each other: as many as are resident at once, with the groups of CUDA's own headers.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cstdio>

namespace cg = cooperative_groups;

__global__ void sum(const int *values, int count, int *parts, int *total) {
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    __shared__ int warps[32];
    int own = 0;
    for (int i = grid.thread_rank(); i < count; i += grid.size()) own += values[i];
    own = cg::reduce(tile, own, cg::plus<int>());
    if (tile.thread_rank() == 0) warps[tile.meta_group_rank()] = own;
    block.sync();
    if (block.thread_rank() == 0) {
        parts[blockIdx.x] = 0;
        for (unsigned i = 0; i < tile.meta_group_size(); i++) parts[blockIdx.x] += warps[i];
    }
    grid.sync();
    if (grid.thread_rank() == 0) {
        *total = 0;
        for (unsigned i = 0; i < gridDim.x; i++) *total += parts[i];
    }
    grid.sync();
    if (block.thread_rank() == 0) parts[blockIdx.x] = grid.is_valid() ? *total : -1;
}

int main() {
    int count = 100000, expected = 0, per_sm = 0, wrong = 0, *values, *parts, *total;
    cudaMallocManaged(&values, count * sizeof(int));
    cudaMallocManaged(&parts, 4096);
    cudaMallocManaged(&total, sizeof(int));
    for (int i = 0; i < count; i++) expected += values[i] = i % 13;
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, 0);
    wrong += properties.cooperativeLaunch != 1;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, sum, 256, 0);
    int blocks = per_sm * properties.multiProcessorCount;
    void *arguments[] = {&values, &count, &parts, &total};
    for (int round = 0; round < 3; round++) {
        cudaError_t status = cudaLaunchCooperativeKernel((void *)sum, blocks, 256, arguments, 0, nullptr);
        wrong += status != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess || *total != expected;
        for (int i = 0; i < blocks; i++) wrong += parts[i] != expected;
        values[round] += 1, expected += 1;
    }
    printf("cooperative groups, %d wrong\n", wrong);
    return wrong != 0;
}
