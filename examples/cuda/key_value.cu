// A key-value store in managed memory: the CPU fills a table, then batches of keys, which the GPU looks up. Most keys are among a
// tenth of the table.
//
//   key_value [MiB of the table]
#include "check.h"

struct Entry {
    unsigned key, value;
};

const unsigned none = 0xffffffff, missing = 0xfffffffe;
const int batches = 4;

__host__ __device__ inline unsigned slot_of(unsigned key, unsigned slots) {
    return (key * 2654435761u >> 7) & (slots - 1);
}

__host__ __device__ inline unsigned value_of(unsigned key) { return key * 3 + 1; }

__global__ void look_up(const Entry *table, unsigned slots, const unsigned *keys, unsigned *values, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned at = slot_of(keys[i], slots);
    while (table[at].key != keys[i] && table[at].key != none) at = (at + 1) & (slots - 1);
    values[i] = table[at].key == none ? missing : table[at].value;
}

int main(int argc, char **argv) {
    const size_t bytes = size_t(argc > 1 ? atoi(argv[1]) : 1) << 20;
    unsigned slots = 1;
    while (2 * slots * sizeof(Entry) <= bytes) slots *= 2;
    const unsigned entries = slots / 2;
    const int count = int(slots / 4);
    Entry *table;
    unsigned *keys, *values;
    CHECK(cudaMallocManaged(&table, slots * sizeof(Entry)));
    CHECK(cudaMallocManaged(&keys, count * sizeof(unsigned)));
    CHECK(cudaMallocManaged(&values, count * sizeof(unsigned)));
    for (unsigned at = 0; at < slots; at++) table[at] = {none, 0};
    for (unsigned key = 0; key < entries; key++) {
        unsigned at = slot_of(key, slots);
        while (table[at].key != none) at = (at + 1) & (slots - 1);
        table[at] = {key, value_of(key)};
    }

    unsigned random = 3;
    long long wrong = 0;
    for (int batch = 0; batch < batches; batch++) {
        for (int i = 0; i < count; i++) {
            random = random * 1664525u + 1013904223u;
            // Nine of ten keys are hot; some of the others are not in the table.
            keys[i] = (random >> 4) % (i % 10 ? entries / 10 : entries + entries / 10);
        }
        look_up<<<(count + 255) / 256, 256>>>(table, slots, keys, values, count);
        CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < count; i++) wrong += values[i] != (keys[i] < entries ? value_of(keys[i]) : missing);
    }
    CHECK(cudaFree(table));
    CHECK(cudaFree(keys));
    CHECK(cudaFree(values));
    return verdict("key_value", wrong, (long long)batches * count);
}
