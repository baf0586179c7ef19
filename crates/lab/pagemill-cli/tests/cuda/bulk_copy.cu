// Tiles that one thread copies in bulk while the block works on the tile before: libcu++ barriers that count bytes, copies of
// cuda::memcpy_async and of cuda::ptx. With the argument "early", threads read a tile without waiting for it.
#include <cstdio>
#include <cstring>
#include <cuda/barrier>
#include <cuda/ptx>
#include <vector>

#include "expect.cuh"

using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace ptx = cuda::ptx;

constexpr int THREADS = 128, TILE = 1024, TILES = 6, BLOCKS = 4;
constexpr unsigned BYTES = TILE * sizeof(int);

// Loads tile `at` into its place; all threads arrive, one with the bytes that are to come.
__device__ Barrier::arrival_token load(const int *in, int (*tiles)[TILE], Barrier *full, int at) {
    if (threadIdx.x != 0) return full[at % 2].arrive();
    cuda::device::memcpy_async_tx(tiles[at % 2], in + at * TILE, cuda::aligned_size_t<16>(BYTES), full[at % 2]);
    return cuda::device::barrier_arrive_tx(full[at % 2], 1, BYTES);
}

__global__ void reverse_tiles(const int *in, int *out, bool early) {
    __shared__ alignas(128) int tiles[2][TILE];
    __shared__ alignas(128) int result[TILE];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ Barrier full[2];
    if (threadIdx.x == 0) {
        init(&full[0], blockDim.x);
        init(&full[1], blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    in += blockIdx.x * TILES * TILE;
    out += blockIdx.x * TILES * TILE;
    Barrier::arrival_token tokens[2];
    tokens[0] = load(in, tiles, full, 0);
    for (int at = 0; at < TILES; ++at) {
        if (at + 1 < TILES) tokens[(at + 1) % 2] = load(in, tiles, full, at + 1);
        if (!early) full[at % 2].wait(std::move(tokens[at % 2]));
        for (int i = threadIdx.x; i < TILE; i += THREADS)
            result[i] = 2 * tiles[at % 2][TILE - 1 - i] + at;  // HERE early
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (threadIdx.x == 0) {
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + at * TILE, result, uint32_t(sizeof result));
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
        }
        __syncthreads();
    }
}

// Sums of all blocks, by reductions in bulk.
__global__ void add_all(const int *in, int *sums) {
    __shared__ alignas(16) int own[THREADS];
    own[threadIdx.x] = in[blockIdx.x * THREADS + threadIdx.x];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, sums, own, sizeof own);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

int main(int argc, char **argv) {
    bool early = argc > 1 && !strcmp(argv[1], "early");
    const int count = BLOCKS * TILES * TILE;
    std::vector<int> in(count), out(count), sums(THREADS), wanted(THREADS);
    for (int i = 0; i < count; i++) in[i] = i * 7 % 1000;
    int *from, *to, *sum;
    OK(cudaMalloc(&from, count * sizeof(int)));
    OK(cudaMalloc(&to, count * sizeof(int)));
    OK(cudaMalloc(&sum, THREADS * sizeof(int)));
    OK(cudaMemcpy(from, in.data(), count * sizeof(int), cudaMemcpyHostToDevice));
    OK(cudaMemset(sum, 0, THREADS * sizeof(int)));
    reverse_tiles<<<BLOCKS, THREADS>>>(from, to, early);
    OK(cudaGetLastError());
    add_all<<<count / THREADS, THREADS>>>(from, sum);
    OK(cudaMemcpy(out.data(), to, count * sizeof(int), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(sums.data(), sum, THREADS * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++) wanted[i % THREADS] += in[i];
    for (int i = 0; i < THREADS; i++) EXPECT(sums[i] == wanted[i]);
    for (int i = 0; i < count && !early; i++) {
        int tile = i / TILE;
        EXPECT(out[i] == 2 * in[tile * TILE + TILE - 1 - i % TILE] + tile % TILES);
    }
    printf("bulk_copy: %d wrong\n", wrong);
    return wrong != 0;
}
