// Products of a sparse matrix (compressed rows) with a vector in managed memory, the result of one being the vector of the next: the
// matrix is used again and again.
//
//   spmv [MiB of the matrix]
#include <utility>
#include <vector>

#include "check.h"

const int entries_a_row = 16, products = 4;

// Whole numbers modulo 2^32: every sum is exact, in whatever order.
__global__ void multiply(const int *first, const int *columns, const unsigned *values, const unsigned *x, unsigned *y,
                         int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    unsigned sum = 0;
    for (int i = first[row]; i < first[row + 1]; i++) sum += values[i] * x[columns[i]];
    y[row] = sum;
}

int main(int argc, char **argv) {
    const size_t bytes = size_t(argc > 1 ? atoi(argv[1]) : 1) << 20;
    const int rows = int(bytes / (entries_a_row * 8)), entries = rows * entries_a_row;
    int *first, *columns;
    unsigned *values, *x, *y;
    CHECK(cudaMallocManaged(&first, (rows + 1) * sizeof(int)));
    CHECK(cudaMallocManaged(&columns, entries * sizeof(int)));
    CHECK(cudaMallocManaged(&values, entries * sizeof(unsigned)));
    CHECK(cudaMallocManaged(&x, rows * sizeof(unsigned)));
    CHECK(cudaMallocManaged(&y, rows * sizeof(unsigned)));
    unsigned random = 7;
    for (int row = 0; row <= rows; row++) first[row] = row * entries_a_row;
    for (int i = 0; i < entries; i++) {
        random = random * 1664525u + 1013904223u;
        // Half of the entries lie near the diagonal, the others anywhere.
        const unsigned near = (i / entries_a_row + (random >> 16) % 64) % rows;
        columns[i] = int(i % 2 ? near : (random >> 8) % rows);
        values[i] = random >> 24;
    }
    for (int row = 0; row < rows; row++) x[row] = row % 17;
    std::vector<unsigned> expected(x, x + rows), other(rows);

    unsigned *from = x, *to = y;
    for (int product = 0; product < products; product++) {
        multiply<<<(rows + 255) / 256, 256>>>(first, columns, values, from, to, rows);
        std::swap(from, to);
    }
    CHECK(cudaDeviceSynchronize());

    for (int product = 0; product < products; product++) {
        for (int row = 0; row < rows; row++) {
            unsigned sum = 0;
            for (int i = first[row]; i < first[row + 1]; i++) sum += values[i] * expected[columns[i]];
            other[row] = sum;
        }
        std::swap(expected, other);
    }
    long long wrong = 0;
    for (int row = 0; row < rows; row++) wrong += from[row] != expected[row];
    CHECK(cudaFree(first));
    CHECK(cudaFree(columns));
    CHECK(cudaFree(values));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    return verdict("spmv", wrong, rows);
}
