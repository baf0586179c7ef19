// A radix sort in managed memory, eight bits at a time: count the digits of each block of keys, add the counts up, move the keys to
// their places in the other array.
//
//   sort [MiB of keys]
#include <algorithm>
#include <utility>
#include <vector>

#include "check.h"

const int digits = 256, warps = 8, keys_a_warp = 256, keys_a_block = warps * keys_a_warp;

__device__ inline unsigned digit_of(unsigned key, int shift) { return key >> shift & (digits - 1); }

__global__ void count(const unsigned *keys, size_t total, int shift, unsigned *counts) {
    __shared__ unsigned own[digits];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < keys_a_block; i += blockDim.x) {
        const size_t at = size_t(blockIdx.x) * keys_a_block + i;
        if (at < total) atomicAdd(&own[digit_of(keys[at], shift)], 1u);
    }
    __syncthreads();
    counts[threadIdx.x * gridDim.x + blockIdx.x] = own[threadIdx.x];
}

// Replaces each count by the sum of those before it; one block.
__global__ void sum_up(unsigned *counts, int length) {
    __shared__ unsigned part[1024];
    const int each = (length + 1023) / 1024, first = threadIdx.x * each, end = min(length, first + each);
    unsigned sum = 0;
    for (int i = first; i < end; i++) sum += counts[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int distance = 1; distance < 1024; distance *= 2) {
        const unsigned before = threadIdx.x >= distance ? part[threadIdx.x - distance] : 0;
        __syncthreads();
        part[threadIdx.x] += before;
        __syncthreads();
    }
    unsigned start = part[threadIdx.x] - sum;
    for (int i = first; i < end; i++) {
        const unsigned own = counts[i];
        counts[i] = start;
        start += own;
    }
}

// Each warp takes 256 keys in their order, 32 at a time, so that keys with equal digits keep theirs.
__global__ void move(const unsigned *keys, size_t total, int shift, const unsigned *starts, unsigned *sorted) {
    __shared__ unsigned place[warps][digits];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int w = 0; w < warps; w++) place[w][threadIdx.x] = 0;
    __syncthreads();
    const size_t first = size_t(blockIdx.x) * keys_a_block + warp * keys_a_warp;
    for (int i = lane; i < keys_a_warp; i += 32) {
        if (first + i < total) atomicAdd(&place[warp][digit_of(keys[first + i], shift)], 1u);
    }
    __syncthreads();
    unsigned start = starts[threadIdx.x * gridDim.x + blockIdx.x];
    for (int w = 0; w < warps; w++) {
        const unsigned own = place[w][threadIdx.x];
        place[w][threadIdx.x] = start;
        start += own;
    }
    __syncthreads();
    for (int i = lane; i < keys_a_warp; i += 32) {
        const bool valid = first + i < total;
        const unsigned key = valid ? keys[first + i] : 0, digit = digit_of(key, shift);
        unsigned same = __ballot_sync(~0u, valid);
        for (int bit = 0; bit < 8; bit++) {
            const unsigned set = __ballot_sync(~0u, digit >> bit & 1);
            same &= digit >> bit & 1 ? set : ~set;
        }
        const unsigned before = __popc(same & ((1u << lane) - 1));
        if (valid) sorted[place[warp][digit] + before] = key;
        __syncwarp();
        if (valid && before == 0) place[warp][digit] += __popc(same);
        __syncwarp();
    }
}

int main(int argc, char **argv) {
    const size_t total = size_t((argc > 1 ? atof(argv[1]) : 1) * (1 << 20)) / sizeof(unsigned);
    const int blocks = int((total + keys_a_block - 1) / keys_a_block);
    unsigned *keys, *other, *counts;
    CHECK(cudaMallocManaged(&keys, total * sizeof(unsigned)));
    CHECK(cudaMallocManaged(&other, total * sizeof(unsigned)));
    CHECK(cudaMallocManaged(&counts, digits * blocks * sizeof(unsigned)));
    unsigned random = 1;
    for (size_t i = 0; i < total; i++) {
        random = random * 1664525u + 1013904223u;
        keys[i] = random ^ random >> 15;
    }
    std::vector<unsigned> expected(keys, keys + total);

    unsigned *from = keys, *to = other;
    for (int shift = 0; shift < 32; shift += 8) {
        count<<<blocks, digits>>>(from, total, shift, counts);
        sum_up<<<1, 1024>>>(counts, digits * blocks);
        move<<<blocks, digits>>>(from, total, shift, counts, to);
        std::swap(from, to);
    }
    CHECK(cudaDeviceSynchronize());

    std::sort(expected.begin(), expected.end());
    long long wrong = 0;
    for (size_t i = 0; i < total; i++) wrong += from[i] != expected[i];
    CHECK(cudaFree(keys));
    CHECK(cudaFree(other));
    CHECK(cudaFree(counts));
    return verdict("sort", wrong, total);
}
