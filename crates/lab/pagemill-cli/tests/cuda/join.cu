// A hash join: a table is built, and probed by chance. The table alone is larger than the GPU memory of the test.
#include <cstdio>
#include <cstdint>

__global__ void build(uint64_t *table, uint32_t slots) {
    uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < slots) table[at] = at * 3ull;
}

__global__ void probe(const uint64_t *table, uint32_t slots, const uint32_t *keys, uint64_t *found, uint32_t count) {
    uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    uint32_t slot = keys[at] * 2654435761u % slots;
    uint64_t value = table[slot];  // the line that thrashes
    found[at] = value;
}

int main() {
    uint32_t slots = 2 << 20, count = 1 << 14;
    uint64_t *table, *found;
    uint32_t *keys;
    cudaMallocManaged(&table, slots * sizeof *table);
    cudaMallocManaged(&found, count * sizeof *found);
    cudaMallocManaged(&keys, count * sizeof *keys);
    for (uint32_t at = 0; at < count; at++) keys[at] = at * 7919;
    build<<<slots / 256, 256>>>(table, slots);
    probe<<<count / 256, 256>>>(table, slots, keys, found, count);
    cudaDeviceSynchronize();
    uint64_t sum = 0;
    for (uint32_t at = 0; at < count; at++) sum += found[at];
    printf("%llu\n", (unsigned long long)sum);
}
