// Every thread walks a piece of its own, one word of each page, in order or scattered; five passes, each with its bandwidth.
//
//   page_walk [MiB [threads [scattered]]]
#include "check.h"

const size_t page_bytes = 4096;
const size_t stride = page_bytes / sizeof(unsigned);

__global__ void walk(const unsigned *in, unsigned *out, size_t pages, size_t piece, bool scattered) {
    const size_t thread = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    const size_t first = thread * piece;
    if (first >= pages) return;
    const size_t count = min(piece, pages - first);
    // An odd step visits each page of a piece of 2^n pages once, and most pages of another.
    const size_t step = scattered ? (thread * 1664525u + 1013904223u) | 1u : 1;
    for (size_t i = 0; i < count; i++) {
        const size_t page = first + (thread * scattered + i * step) % count;
        out[page * stride] = in[page * stride] * 3 + 1;
    }
}

int main(int argc, char **argv) {
    const size_t mebibytes = argc > 1 ? atoi(argv[1]) : 64;
    const unsigned threads = argc > 2 ? atoi(argv[2]) : 1024;
    const bool scattered = argc > 3 && atoi(argv[3]) != 0;
    const size_t pages = mebibytes * ((1 << 20) / page_bytes) / 2;
    unsigned *in, *out;
    CHECK(cudaMallocManaged(&in, pages * page_bytes));
    CHECK(cudaMallocManaged(&out, pages * page_bytes));
    for (size_t page = 0; page < pages; page++) in[page * stride] = unsigned(page);
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    const size_t piece = (pages + threads - 1) / threads;
    for (int pass = 1; pass <= 5; pass++) {
        CHECK(cudaEventRecord(start));
        walk<<<threads / 256, 256>>>(in, out, pages, piece, scattered);
        CHECK(cudaEventRecord(stop));
        CHECK(cudaEventSynchronize(stop));
        float milliseconds;
        CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
        printf("pass %d: %.2f ms, %.2f GB/s\n", pass, milliseconds, 2.0 * pages * page_bytes / milliseconds / 1e6);
    }
    long long wrong = 0;
    for (size_t page = 0; page < pages; page++) {
        const unsigned result = out[page * stride];
        const bool skipped = scattered && result == 0;
        wrong += !skipped && result != unsigned(page) * 3 + 1;
    }
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    return verdict("page_walk", wrong, pages);
}
