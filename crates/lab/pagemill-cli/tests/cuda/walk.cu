// Three arrays: one that the CPU fills and the GPU reads in every launch, one that only the GPU writes, one that no kernel uses.
//
//   walk MiB [HINT [PLACEMENT]]
//
// HINT gives one hint for the first array by hand: 1 read mostly, 2 stay on the CPU, 3 prefer the GPU, 4 prefetch. With t the
// simulated time is printed, with x the exit code depends on the time.
//
// PLACEMENT gives the calls of a placement before the first launch: p for bulk-prefetch, z for zero-copy or m for read-mostly, then
// the arrays, i, o and r; or s and, for each 2 MiB of the arrays, c or g for the side on which they are to be.
#include <cstring>

#include "../../../../../examples/cuda/check.h"

__global__ void walk(const unsigned *in, unsigned *out, size_t count) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count) out[i / 2] = in[i] + 1;
}

const cudaMemLocation gpu = {cudaMemLocationTypeDevice, 0}, cpu = {cudaMemLocationTypeHost, 0};

struct Array {
    char name, *start;
    size_t bytes;
};

void place(const char *mode, const Array &array) {
    void *p = array.start;
    if (!strchr(mode + 1, array.name)) return;
    if (mode[0] == 'z') CHECK(cudaMemAdvise(p, array.bytes, cudaMemAdviseSetPreferredLocation, cpu));
    if (mode[0] == 'z' || mode[0] == 'p') CHECK(cudaMemAdvise(p, array.bytes, cudaMemAdviseSetAccessedBy, gpu));
    if (mode[0] == 'p') CHECK(cudaMemPrefetchAsync(p, array.bytes, gpu, 0, 0));
    if (mode[0] == 'm') CHECK(cudaMemAdvise(p, array.bytes, cudaMemAdviseSetReadMostly, gpu));
}

// Takes the sides of the stripes of one array, neighbors on one side together, and answers with those of the next.
const char *stripe(const char *sides, const Array &array) {
    const size_t stripe_bytes = 2 << 20;
    for (size_t from = 0; from < array.bytes;) {
        const char side = *sides;
        size_t to = from;
        while (to < array.bytes && *sides == side) to += stripe_bytes, sides++;
        const cudaMemLocation where = side == 'g' ? gpu : cpu;
        CHECK(cudaMemPrefetchAsync(array.start + from, to - from, where, 0, 0));
        CHECK(cudaMemAdvise(array.start + from, to - from, cudaMemAdviseSetPreferredLocation, where));
        if (side == 'c') CHECK(cudaMemAdvise(array.start + from, to - from, cudaMemAdviseSetAccessedBy, gpu));
        from = to;
    }
    return sides;
}

int main(int argc, char **argv) {
    const size_t bytes = (size_t)atoi(argv[1]) << 20, count = bytes / 4;
    const char hint = argc > 2 ? argv[2][0] : '0';
    unsigned *in, *out, *rest;
    CHECK(cudaMallocManaged(&in, bytes));
    if (hint == '1') CHECK(cudaMemAdvise(in, bytes, cudaMemAdviseSetReadMostly, gpu));
    if (hint == '2') CHECK(cudaMemAdvise(in, bytes, cudaMemAdviseSetPreferredLocation, cpu));
    if (hint == '2') CHECK(cudaMemAdvise(in, bytes, cudaMemAdviseSetAccessedBy, gpu));
    if (hint == '3') CHECK(cudaMemAdvise(in, bytes, cudaMemAdviseSetPreferredLocation, gpu));
    CHECK(cudaMallocManaged(&out, bytes / 2));
    CHECK(cudaMallocManaged(&rest, bytes / 2));
    for (size_t i = 0; i < count; i++) in[i] = unsigned(i);
    for (size_t i = 0; i < count / 2; i++) rest[i] = unsigned(i);
    const char *placement = argc > 3 ? argv[3] : "-", *sides = placement + 1;
    for (const Array &array : {Array{'i', (char *)in, bytes}, {'o', (char *)out, bytes / 2}, {'r', (char *)rest, bytes / 2}}) {
        if (placement[0] == 's') sides = stripe(sides, array);
        else place(placement, array);
    }
    if (hint == '4') CHECK(cudaMemPrefetchAsync(in, bytes, gpu, 0, 0));
    walk<<<(count + 255) / 256, 256>>>(in, out, count);
    walk<<<(count + 255) / 256, 256>>>(in, out, count);
    CHECK(cudaDeviceSynchronize());
    long long wrong = 0;
    for (size_t i = 0; i < count / 2; i++) wrong += out[i] != 2 * i + 1 && out[i] != 2 * i + 2;
    cudaEvent_t end;
    CHECK(cudaEventCreate(&end));
    cudaEvent_t start;
    CHECK(cudaEventCreate(&start));
    if (hint == 't') {
        CHECK(cudaEventRecord(start));
        walk<<<(count + 255) / 256, 256>>>(in, out, count);
        CHECK(cudaEventRecord(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, start, end));
        printf("time: %f ms\n", ms);
    }
    return verdict("walk", wrong, count / 2);
}
