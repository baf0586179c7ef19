// Hints for 4 MiB of managed memory, a case at a time; the test knows what has to move.
//
//   hints CASE
#include <cstring>

#include "../../../../../examples/cuda/check.h"

const size_t bytes = 4 << 20, count = bytes / sizeof(unsigned);
const cudaMemLocation gpu = {cudaMemLocationTypeDevice, 0}, cpu = {cudaMemLocationTypeHost, 0};

unsigned *words, *found;

// Every warp reads 128 bytes that no other reads.
__global__ void look(const unsigned *words, unsigned *found) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (words[i] == 0xdeadbeef) *found = 1;
}

__global__ void fill(unsigned *words, unsigned value) {
    words[blockIdx.x * (size_t)blockDim.x + threadIdx.x] = value;
}

void gpu_reads() {
    look<<<count / 256, 256>>>(words, found);
    CHECK(cudaDeviceSynchronize());
}

void gpu_writes(unsigned value) {
    fill<<<count / 256, 256>>>(words, value);
    CHECK(cudaDeviceSynchronize());
}

void cpu_writes(unsigned value) {
    for (size_t i = 0; i < count; i++) words[i] = value;
}

void cpu_reads(unsigned value) {
    for (size_t i = 0; i < count; i++) {
        if (words[i] != value) {
            printf("word %zu is %u instead of %u\n", i, words[i], value);
            exit(1);
        }
    }
}

void advise(cudaMemoryAdvise advice, cudaMemLocation where = gpu, size_t part = bytes) {
    CHECK(cudaMemAdvise(words, part, advice, where));
}

void prefetch(cudaMemLocation where) {
    CHECK(cudaMemPrefetchAsync(words, bytes, where, 0, 0));
    CHECK(cudaDeviceSynchronize());
}

int attribute(cudaMemRangeAttribute which, size_t part = bytes) {
    int value = -7;
    CHECK(cudaMemRangeGetAttribute(&value, sizeof value, which, words, part));
    return value;
}

void attributes(const char *when) {
    int devices[3] = {-7, -7, -7};
    CHECK(cudaMemRangeGetAttribute(devices, sizeof devices, cudaMemRangeAttributeAccessedBy, words, bytes));
    printf("%s: read mostly %d, preferred %d, accessed by %d %d %d, prefetched %d\n", when,
           attribute(cudaMemRangeAttributeReadMostly), attribute(cudaMemRangeAttributePreferredLocation), devices[0],
           devices[1], devices[2], attribute(cudaMemRangeAttributeLastPrefetchLocation));
}

int main(int argc, char **argv) {
    auto is = [&](const char *name) { return strcmp(argv[1], name) == 0; };
    CHECK(cudaMalloc(&found, 4));
    CHECK(cudaMallocManaged(&words, bytes));
    if (is("none")) {
        cpu_writes(1), gpu_reads(), gpu_reads(), cpu_reads(1), gpu_reads();
    } else if (is("mostly")) {
        cpu_writes(1), advise(cudaMemAdviseSetReadMostly);
        gpu_reads(), gpu_reads(), cpu_reads(1), gpu_reads();
    } else if (is("mostly-written")) {
        cpu_writes(1), advise(cudaMemAdviseSetReadMostly);
        gpu_reads(), gpu_writes(2), cpu_reads(2), gpu_reads(), cpu_reads(2);
    } else if (is("mostly-host-written")) {
        cpu_writes(1), advise(cudaMemAdviseSetReadMostly), gpu_reads();
        cpu_reads(1), cpu_writes(2), gpu_reads(), cpu_reads(2), gpu_reads();
    } else if (is("mostly-host-adds")) {
        gpu_writes(1), advise(cudaMemAdviseSetReadMostly);
        for (size_t i = 0; i < count; i++) words[i] += 1;
        gpu_reads(), cpu_reads(2);
        for (size_t i = 0; i < count; i++) words[i] += 1;
        gpu_reads();
    } else if (is("mostly-unset")) {
        cpu_writes(1), advise(cudaMemAdviseSetReadMostly), gpu_reads();
        advise(cudaMemAdviseUnsetReadMostly), gpu_reads(), cpu_reads(1);
    } else if (is("stay")) {
        advise(cudaMemAdviseSetPreferredLocation, cpu), advise(cudaMemAdviseSetAccessedBy);
        cpu_writes(1), gpu_reads(), cpu_reads(1);
    } else if (is("stay-faulting")) {
        advise(cudaMemAdviseSetPreferredLocation, cpu), cpu_writes(1), gpu_reads(), cpu_reads(1);
    } else if (is("stay-unset")) {
        advise(cudaMemAdviseSetPreferredLocation, cpu), advise(cudaMemAdviseSetAccessedBy), cpu_writes(1);
        advise(cudaMemAdviseUnsetPreferredLocation, cpu), advise(cudaMemAdviseUnsetAccessedBy);
        gpu_reads();
    } else if (is("prefetched")) {
        cpu_writes(1), prefetch(gpu), gpu_reads(), prefetch(cpu), cpu_reads(1);
    } else if (is("untouched")) {
        gpu_writes(3), cpu_reads(3);
    } else if (is("untouched-prefetched")) {
        prefetch(gpu), gpu_writes(3), gpu_reads();
    } else if (is("one-page-back")) {
        gpu_writes(3);
        if (words[count / 2] != 3) return 1;
        gpu_reads();
    } else if (is("attributes")) {
        attributes("new");
        advise(cudaMemAdviseSetReadMostly), advise(cudaMemAdviseSetPreferredLocation, cpu);
        advise(cudaMemAdviseSetAccessedBy), prefetch(gpu);
        attributes("set");
        advise(cudaMemAdviseUnsetReadMostly, gpu, bytes / 2), advise(cudaMemAdviseSetPreferredLocation, gpu, bytes / 2);
        advise(cudaMemAdviseUnsetAccessedBy, gpu, bytes / 2);
        attributes("in parts");
        printf("first half: preferred %d\n", attribute(cudaMemRangeAttributePreferredLocation, bytes / 2));
        advise(cudaMemAdviseUnsetReadMostly), advise(cudaMemAdviseUnsetPreferredLocation);
        advise(cudaMemAdviseUnsetAccessedBy), prefetch(cpu);
        attributes("unset");
    } else {
        return 2;
    }
    CHECK(cudaFree(words));
    printf("done\n");
    return 0;
}
