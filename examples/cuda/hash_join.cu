// A hash join in managed memory: the CPU fills two tables, the GPU builds a hash table of one and looks the rows of the other up.
// The look-ups jump about in the hash table; the rows are read in order, once.
//
//   hash_join [MiB of rows to look up]
#include "check.h"

struct Row {
    unsigned key, value;
};

const unsigned none = 0xffffffff;

__host__ __device__ inline unsigned slot_of(unsigned key, unsigned slots) {
    return (key * 2654435761u) & (slots - 1);
}

__global__ void build(const Row *rows, size_t count, Row *table, unsigned slots) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned at = slot_of(rows[i].key, slots);
    while (atomicCAS(&table[at].key, none, rows[i].key) != none) at = (at + 1) & (slots - 1);
    table[at].value = rows[i].value;
}

__global__ void probe(const Row *rows, size_t count, const Row *table, unsigned slots, unsigned long long *sum) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned at = slot_of(rows[i].key, slots);
    while (table[at].key != rows[i].key && table[at].key != none) at = (at + 1) & (slots - 1);
    if (table[at].key == rows[i].key) atomicAdd(sum, (unsigned long long)table[at].value * rows[i].value);
}

template <typename T>
T *managed(size_t count) {
    T *memory;
    CHECK(cudaMallocManaged(&memory, count * sizeof(T)));
    return memory;
}

int main(int argc, char **argv) {
    const size_t probes = (size_t(argc > 1 ? atoi(argv[1]) : 8) << 20) / sizeof(Row);
    const size_t builds = probes / 8;
    unsigned slots = 1;
    while (slots < 2 * builds) slots *= 2;
    Row *left = managed<Row>(builds);
    Row *right = managed<Row>(probes);
    Row *table = managed<Row>(slots);
    unsigned long long *sum = managed<unsigned long long>(1);
    for (size_t i = 0; i < builds; i++) left[i] = {unsigned(i * 7 + 1), unsigned(i % 1000)};
    for (size_t i = 0; i < probes; i++) right[i] = {unsigned((i * 13 % (2 * builds)) * 7 + 1), unsigned(i % 100)};
    for (size_t i = 0; i < slots; i++) table[i] = {none, 0};
    *sum = 0;
    build<<<(builds + 255) / 256, 256>>>(left, builds, table, slots);
    probe<<<(probes + 255) / 256, 256>>>(right, probes, table, slots, sum);
    CHECK(cudaDeviceSynchronize());
    unsigned long long expected = 0;
    for (size_t i = 0; i < probes; i++) {
        const size_t match = i * 13 % (2 * builds);
        if (match < builds) expected += (unsigned long long)(match % 1000) * (i % 100);
    }
    return verdict("hash_join", *sum == expected ? 0 : 1, 1);
}
