// Kernels with one mistake each, and the same without it: the first argument is which, the second "mended" for the latter.
// A comment "HERE name" stands on the line at which the mistake of that name is seen.

#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>

namespace cg = cooperative_groups;

constexpr int THREADS = 64;

__global__ void out_of_bounds(int* data, int count, bool mended)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count || !mended)
        data[at] = at;  // HERE out-of-bounds
}

__global__ void misaligned(char* data, int count, bool mended)
{
    int shift = mended ? 4 : 3;
    *reinterpret_cast<int*>(data + shift) = count;  // HERE misaligned
}

__global__ void write_all(int* data, int count, bool)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count)
        data[at] = at;  // HERE freed-memory
}

__global__ void own_heap(int* data, int, bool mended)
{
    int* own = static_cast<int*>(malloc(16));
    own[1] = threadIdx.x;
    if (mended)
        data[threadIdx.x] = own[1];
    free(own);
    if (!mended)
        data[threadIdx.x] = own[1];  // HERE freed-heap
}

__global__ void sum_of_four(int* data, int count, bool)
{
    int at = 4 * threadIdx.x, sum = 0;
    for (int i = 0; i < 4; ++i)
        sum += data[(at + i) % count];  // HERE uninitialized-global
    data[threadIdx.x % count] = sum;
}

__global__ void sum_of_rows(int* data, int, bool)
{
    int sum = 0;
    for (int row = 0; row < 4; ++row)
        sum += data[row * THREADS + threadIdx.x];  // HERE uninitialized-rows
    data[threadIdx.x] = sum;
}

__global__ void half_tile(int* data, int, bool mended)
{
    __shared__ int tile[THREADS];
    if (threadIdx.x < THREADS / 2 || mended)
        tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    data[threadIdx.x] = tile[THREADS - 1 - threadIdx.x];  // HERE uninitialized-shared
}

__device__ void copy_one(int* to, const int* from)
{
    unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
}

__global__ void own_copy(int* data, int, bool mended)
{
    __shared__ int tile[THREADS];
    copy_one(&tile[threadIdx.x], &data[threadIdx.x]);
    if (mended)
        asm volatile("cp.async.wait_group 0;" ::: "memory");
    data[threadIdx.x] = tile[threadIdx.x];  // HERE uninitialized-copy
}

// A barrier waits for threads, not for their copies.
__global__ void copy_of_another(int* data, int, bool mended)
{
    __shared__ int tile[THREADS];
    copy_one(&tile[threadIdx.x], &data[threadIdx.x]);
    if (mended)
        asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    int seen = tile[(threadIdx.x + 32) % THREADS];  // HERE uninitialized-copy-of-another
    asm volatile("cp.async.wait_all;" ::: "memory");
    data[threadIdx.x] = seen;
}

// Copies of the next round are under way while the bytes of this one are read.
__global__ void copy_ahead(int* data)
{
    __shared__ int tiles[2][THREADS];
    int sum = 0;
    copy_one(&tiles[0][threadIdx.x], &data[threadIdx.x]);
    for (int round = 0; round < 4; round++) {
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        if (round < 3)
            copy_one(&tiles[(round + 1) % 2][threadIdx.x], &data[threadIdx.x]);
        sum += tiles[round % 2][(threadIdx.x + 1) % THREADS];
    }
    data[THREADS + threadIdx.x] = sum;
}

__global__ void neighbor(int* data, int, bool mended)
{
    __shared__ int tile[THREADS];
    tile[threadIdx.x] = threadIdx.x;
    if (mended)
        __syncthreads();
    data[threadIdx.x] = tile[(threadIdx.x + 32) % THREADS];  // HERE shared-race
}

__global__ void second_round(int* data, int rounds, bool mended)
{
    __shared__ int tile[THREADS];
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
        tile[threadIdx.x] = round + threadIdx.x;  // HERE shared-race-of-rounds
        __syncthreads();
        sum += tile[(threadIdx.x + 32) % THREADS];
        if (mended)
            __syncthreads();
    }
    data[threadIdx.x] = sum;
}

__global__ void within_a_warp(int* data, int, bool mended)
{
    __shared__ int tile[32];
    if (threadIdx.x < 32) {
        tile[threadIdx.x] = threadIdx.x;
        if (mended)
            __syncwarp();
        data[threadIdx.x] = tile[threadIdx.x ^ 1];  // HERE shared-race-in-warp
    }
}

// Lanes 0 to 15 wait for each other, and so do the others: the lane that is read has not been waited for.
__global__ void within_halves(int* data, int, bool mended)
{
    __shared__ int tile[32];
    if (threadIdx.x < 32) {
        tile[threadIdx.x] = threadIdx.x;
        __syncwarp(mended ? ~0u : 0xffffu << (threadIdx.x & 16));
        data[threadIdx.x] = tile[31 - threadIdx.x];  // HERE shared-race-of-groups
    }
}

__global__ void within_eights(int* data)
{
    __shared__ int tile[32];
    __shared__ float rounded;
    for (int round = 0; round < 2; ++round) {
        tile[threadIdx.x] = threadIdx.x;
        __syncwarp(0xffu << (threadIdx.x & 24));
        data[threadIdx.x] = tile[threadIdx.x ^ 7];
        __syncwarp(0xffu << (threadIdx.x & 24));
    }
    // The sums of lanes that added in another order.
    rounded = __int_as_float(0x3f800000 + (threadIdx.x & 1));
}

// Half of the warps fill a buffer for the others, with two barriers of their own.
__global__ void producers(int* data, int, bool mended)
{
    __shared__ int buffer[32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int round = 0; round < 3; ++round) {
        if (warp == 0) {
            if (round > 0)
                asm volatile("bar.sync 2, 64;" ::: "memory");
            buffer[lane] = round + lane;
            if (mended)
                asm volatile("bar.arrive 1, 64;" ::: "memory");
            else
                asm volatile("bar.arrive 3, 64;" ::: "memory");
        } else {
            if (mended)
                asm volatile("bar.sync 1, 64;" ::: "memory");
            data[lane] = buffer[31 - lane];  // HERE shared-race-of-producers
            if (round < 2)
                asm volatile("bar.arrive 2, 64;" ::: "memory");
            if (!mended)
                asm volatile("bar.sync 3, 64;" ::: "memory");
        }
    }
}

__global__ void write_what_was_read(int* data, int, bool mended)
{
    __shared__ int cell;
    if (threadIdx.x == 0)
        cell = 7;
    __syncthreads();
    int seen = cell;
    if (mended)
        __syncthreads();
    if (threadIdx.x == 0)
        cell = 8;  // HERE shared-race-after-reads
    data[threadIdx.x] = seen;
}

__global__ void write_what_blocks_read(int* data, int, bool mended)
{
    int seen = data[0];
    if (blockIdx.x == 3 && threadIdx.x == 0 && !mended)
        data[0] = 8;  // HERE global-race-after-reads
    data[1 + blockIdx.x * blockDim.x + threadIdx.x] = seen;
}

__device__ unsigned arrived;

__global__ void last_block_sums(int* data, int count, bool mended)
{
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        data[blockIdx.x] = blockIdx.x;
        if (mended)
            __threadfence();
        is_last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < gridDim.x; ++i)
            sum += data[i];  // HERE global-race
        data[gridDim.x] = sum;
    }
}

__global__ void count_up(int* data, int, bool mended)
{
    if (mended)
        atomicAdd(data, 1);
    else
        data[0] = data[0] + 1;  // HERE global-race-of-writes
}

// The store of block 0 may come after the atomics of others, whatever block 0 adds itself.
__global__ void zero_and_count(int* data, int, bool mended)
{
    if (blockIdx.x == 0 && threadIdx.x == 0 && !mended)
        data[0] = 0;
    atomicAdd(data, 1);  // HERE global-race-behind-atomic
}

__global__ void last_block_by_scope(int* data, int, bool mended)
{
    if (threadIdx.x != 0)
        return;
    data[blockIdx.x] = blockIdx.x;
    if (mended)
        __threadfence();
    else
        __threadfence_block();
    if (atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1)
        data[gridDim.x] = data[0] + data[1];  // HERE global-race-of-block-fence
}

__global__ void count_by_scope(int* data, int, bool mended)
{
    if (mended)
        atomicAdd(data, 1);
    else
        atomicAdd_block(data, 1);  // HERE global-race-of-block-atomics
}

__global__ void sum_over_grid(int* data, int count, bool mended)
{
    cg::grid_group grid = cg::this_grid();
    int at = grid.thread_rank();
    data[at] = at;
    if (mended)
        grid.sync();
    else
        __syncthreads();
    int other = data[(at + THREADS) % count];  // HERE global-race-of-grid
    if (mended)
        grid.sync();
    data[at] = other;
}

__global__ void barrier_for_some(int* data, int, bool mended)
{
    if (threadIdx.x < 16 || mended)
        __syncthreads();  // HERE divergence
    data[threadIdx.x] = threadIdx.x;
}

__global__ void shuffle_with_absent(int* data, int, bool mended)
{
    int value = threadIdx.x;
    if (threadIdx.x % 32 < 16)
        value = __shfl_down_sync(mended ? 0xffff : 0xffffffff, value, 1, 16);  // HERE divergence-of-shuffle
    data[threadIdx.x] = value;
}

__global__ void shuffle_beyond(int* data, int, bool mended)
{
    int value = threadIdx.x;
    if (threadIdx.x % 32 < 16)
        value = __shfl_down_sync(0xffff, value, 1, mended ? 16 : 32);  // HERE divergence-of-lanes
    data[threadIdx.x] = value;
}

// Things that look like mistakes and are none.
__global__ void all_set_a_flag(int* data, int, bool)
{
    __shared__ int flag;
    flag = 1;
    data[0] = 7;
    __syncthreads();
    data[1 + threadIdx.x + blockDim.x * blockIdx.x] = flag;
}

__global__ void bytes(unsigned char* data, int count, bool)
{
    __shared__ unsigned char tile[THREADS];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    data[blockIdx.x + gridDim.x * threadIdx.x] = tile[THREADS - 1 - threadIdx.x];
}

struct Padded {
    char kind;
    int value;
};

__global__ void fill_padded(Padded* data)
{
    data[threadIdx.x].kind = 1;
    data[threadIdx.x].value = threadIdx.x;
}

// What lies between the fields is copied along, and never written.
__global__ void copy_padded(const Padded* from, Padded* to)
{
    to[threadIdx.x] = from[threadIdx.x];
}

// Lanes read a place, one of them alone reads it again after the others, and writes.
__global__ void counts_of_a_warp(int* data, int, bool)
{
    __shared__ int place[THREADS / 4];
    int group = threadIdx.x / 4;
    place[group] = 4 * group;
    __syncwarp();
    for (int round = 0; round < 3; round++) {
        data[place[group] + threadIdx.x % 4] = round;
        __syncwarp();
        if (threadIdx.x % 4 == 0)
            place[group] += round % 2 == 0 ? 4 : -4;
        __syncwarp();
    }
}

// Blocks read what one of them changes behind a barrier of the grid.
__global__ void in_place_over_grid(int* data, int count, bool)
{
    auto grid = cooperative_groups::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < 3; round++) {
        int sum = data[i] + data[(i + 1) % count] + data[(i + count - 1) % count];
        grid.sync();
        data[i] = data[i] + sum;
        grid.sync();
    }
}

// Warps read a word and say so at a barrier; the last of them waits there, and changes it.
__global__ void read_and_arrive(int* data, int, bool)
{
    __shared__ int word;
    word = 7;
    __syncthreads();
    data[threadIdx.x] = word;
    if (threadIdx.x < THREADS - 32) {
        asm volatile("bar.arrive 1, %0;" ::"r"(THREADS) : "memory");
        return;
    }
    asm volatile("bar.sync 1, %0;" ::"r"(THREADS) : "memory");
    if (threadIdx.x == THREADS - 1)
        word = 8;
}

__global__ void lock(int* data, int, bool)
{
    if (threadIdx.x != 0)
        return;
    while (atomicCAS(&data[0], 0, 1) != 0) {
    }
    __threadfence();
    data[1] = data[1] + 1;
    __threadfence();
    atomicExch(&data[0], 0);
}

int main(int argc, char** argv)
{
    const char* which = argc > 1 ? argv[1] : "";
    bool mended = argc > 2 && strcmp(argv[2], "mended") == 0;
    auto is = [&](const char* name) { return strcmp(which, name) == 0; };
    int* data;
    int count = 4 * THREADS, blocks = 1;
    size_t bytes_of_data = (count + 8) * sizeof(int);
    cudaMalloc(&data, bytes_of_data);
    void (*kernel)(int*, int, bool) = nullptr;
    if (is("out-of-bounds")) {
        cudaFree(data);
        count = 100;
        cudaMalloc(&data, count * sizeof(int));
        kernel = out_of_bounds, blocks = 2;
    } else if (is("misaligned"))
        kernel = reinterpret_cast<decltype(kernel)>(misaligned);
    else if (is("freed-memory")) {
        if (!mended)
            cudaFree(data);
        kernel = write_all;
    } else if (is("freed-heap"))
        kernel = own_heap;
    else if (is("uninitialized-global")) {
        cudaMemset(data, 0, mended ? bytes_of_data : bytes_of_data / 2);
        kernel = sum_of_four;
    } else if (is("uninitialized-rows")) {
        size_t row = THREADS * sizeof(int);
        cudaMemset2D(data, row, 0, mended ? row : THREADS, 4);
        kernel = sum_of_rows;
    } else if (is("uninitialized-shared"))
        kernel = half_tile;
    else if (is("uninitialized-copy") || is("uninitialized-copy-of-another")) {
        cudaMemset(data, 0, bytes_of_data);
        kernel = is("uninitialized-copy") ? own_copy : copy_of_another;
    }
    else if (is("shared-race"))
        kernel = neighbor;
    else if (is("shared-race-of-rounds"))
        kernel = second_round;
    else if (is("shared-race-in-warp"))
        kernel = within_a_warp;
    else if (is("shared-race-of-groups"))
        kernel = within_halves;
    else if (is("shared-race-of-producers"))
        kernel = producers;
    else if (is("shared-race-after-reads"))
        kernel = write_what_was_read;
    else if (is("global-race-after-reads")) {
        cudaMemset(data, 0, bytes_of_data);
        kernel = write_what_blocks_read, blocks = 4;
    } else if (is("global-race"))
        kernel = last_block_sums, blocks = 4;
    else if (is("global-race-of-writes")) {
        cudaMemset(data, 0, bytes_of_data);
        kernel = count_up, blocks = 4;
    } else if (is("global-race-of-block-fence"))
        kernel = last_block_by_scope, blocks = 4;
    else if (is("global-race-of-block-atomics")) {
        cudaMemset(data, 0, bytes_of_data);
        kernel = count_by_scope, blocks = 4;
    } else if (is("global-race-behind-atomic")) {
        cudaMemset(data, 0, bytes_of_data);
        kernel = zero_and_count, blocks = 4;
    } else if (is("global-race-of-grid"))
        blocks = 4;
    else if (is("divergence"))
        kernel = barrier_for_some;
    else if (is("divergence-of-shuffle"))
        kernel = shuffle_with_absent;
    else if (is("divergence-of-lanes"))
        kernel = shuffle_beyond;
    else if (is("none")) {
        cudaMemset(data, 0, bytes_of_data);
        all_set_a_flag<<<3, THREADS>>>(data, count, true);
        cudaMemset(data, 0, bytes_of_data);
        lock<<<8, THREADS>>>(data, count, true);
        copy_ahead<<<1, THREADS>>>(data);
        within_eights<<<1, 32>>>(data);
        counts_of_a_warp<<<1, THREADS>>>(data, count, true);
        read_and_arrive<<<1, THREADS>>>(data, count, true);
        void* own[] = {&data, &count, &mended};
        cudaLaunchCooperativeKernel(in_place_over_grid, dim3(4), dim3(THREADS), own, 0, 0);
        cudaMalloc(&data, 4 * THREADS);
        bytes<<<4, THREADS>>>(reinterpret_cast<unsigned char*>(data), count, true);
        // The next launch begins when the last has ended.
        bytes<<<4, THREADS>>>(reinterpret_cast<unsigned char*>(data), count, true);
        write_all<<<1, THREADS>>>(data, THREADS, true);
        Padded* padded;
        cudaMalloc(&padded, 2 * THREADS * sizeof(Padded));
        fill_padded<<<1, THREADS>>>(padded);
        copy_padded<<<1, THREADS>>>(padded, padded + THREADS);
    } else {
        printf("no kernel %s\n", which);
        return 3;
    }
    if (kernel != nullptr)
        kernel<<<blocks, THREADS>>>(data, count, mended);
    else if (is("global-race-of-grid")) {
        void* arguments[] = {&data, &count, &mended};
        cudaLaunchCooperativeKernel(sum_over_grid, dim3(blocks), dim3(THREADS), arguments, 0, 0);
    }
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s: %s\n", which, cudaGetErrorString(error));
    return 0;
}
