// Blocks of one launch that wait for each other without a cooperative launch: right where all of them are resident.

#include <cstdio>
#include <cstdlib>
#include <cuda/atomic>

constexpr int BLOCKS = 6, THREADS = 96, ROUNDS = 5;

/// Each block waits for the next one, and counts its waiting in memory.
__global__ void wait_for_next(volatile int* flags, volatile int* waited)
{
    int block = blockIdx.x, count = 0;
    if (block + 1 < gridDim.x)
        while (flags[block + 1] == 0)
            waited[block * blockDim.x + threadIdx.x] = ++count;
    __syncthreads();
    if (threadIdx.x == 0)
        flags[block] = 1;
}

/// A barrier of the grid, made of atomics.
__global__ void meet(unsigned* arrived, int* sums)
{
    for (unsigned round = 1; round <= ROUNDS; ++round) {
        __syncthreads();
        if (threadIdx.x == 0) {
            cuda::atomic_ref<unsigned, cuda::thread_scope_device> counter(*arrived);
            counter.fetch_add(1, cuda::memory_order_acq_rel);
            while (counter.load(cuda::memory_order_acquire) < round * gridDim.x) {
            }
        }
        __syncthreads();
        // Written by the block before, in the round before.
        if (threadIdx.x == 0)
            sums[round * gridDim.x + blockIdx.x] = sums[(round - 1) * gridDim.x + (blockIdx.x + 1) % gridDim.x] + 1;
    }
}

int main()
{
    int wrong = 0, *memory;
    size_t ints = BLOCKS * THREADS + (ROUNDS + 1) * BLOCKS + 8;
    cudaMallocManaged(&memory, ints * sizeof(int));
    cudaMemset(memory, 0, ints * sizeof(int));
    wait_for_next<<<BLOCKS, THREADS>>>(memory, memory + BLOCKS);
    wrong += cudaDeviceSynchronize() != cudaSuccess;
    for (int block = 0; block < BLOCKS; ++block)
        wrong += memory[block] != 1;
    cudaMemset(memory, 0, ints * sizeof(int));
    meet<<<BLOCKS, THREADS>>>(reinterpret_cast<unsigned*>(memory), memory + 1);
    wrong += cudaDeviceSynchronize() != cudaSuccess;
    for (int block = 0; block < BLOCKS; ++block)
        wrong += memory[1 + ROUNDS * BLOCKS + block] != ROUNDS;
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
