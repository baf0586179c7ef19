// Counts words in a histogram that is spread over the shared memory of a cluster of blocks. Needs compute capability 9.0.
#include <cooperative_groups.h>

#include <vector>

#include "../../../../../examples/cuda/check.h"

namespace cg = cooperative_groups;

const int bins = 4096;

__global__ void count(const unsigned *words, int length, unsigned *counts) {
    extern __shared__ unsigned own[];
    cg::cluster_group cluster = cg::this_cluster();
    const int share = bins / cluster.num_blocks();
    for (int bin = threadIdx.x; bin < share; bin += blockDim.x) own[bin] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < length; i += gridDim.x * blockDim.x) {
        int bin = words[i] % bins;
        atomicAdd(cluster.map_shared_rank(own, bin / share) + bin % share, 1u);
    }
    cluster.sync();
    int first = cluster.block_rank() * share;
    for (int bin = threadIdx.x; bin < share; bin += blockDim.x) atomicAdd(&counts[first + bin], own[bin]);
}

__global__ void __cluster_dims__(2, 1, 1) fixed(unsigned *counts) {
    if (threadIdx.x == 0) atomicAdd(counts, cg::this_cluster().num_blocks());
}

int main() {
    int has_clusters = 0;
    CHECK(cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, 0));
    if (!has_clusters) {
        printf("cluster_histogram: this GPU has no clusters\n");
        return 3;
    }
    const int length = 50000;
    std::vector<unsigned> words(length), expected(bins), found(bins);
    unsigned random = 1;
    for (auto &word : words) {
        random = random * 1664525u + 1013904223u;
        word = random >> 7;
        expected[word % bins]++;
    }
    unsigned *on_gpu, *counts;
    CHECK(cudaMalloc(&on_gpu, length * sizeof(unsigned)));
    CHECK(cudaMalloc(&counts, bins * sizeof(unsigned)));
    CHECK(cudaMemcpy(on_gpu, words.data(), length * sizeof(unsigned), cudaMemcpyHostToDevice));
    CHECK(cudaFuncSetAttribute(count, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    long long wrong = 0, checked = 0;
    for (unsigned blocks = 1; blocks <= 16; blocks *= 2) {
        cudaLaunchAttribute attribute = {};
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim.x = blocks;
        attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = 32;
        config.blockDim = 128;
        config.dynamicSmemBytes = bins / blocks * sizeof(unsigned);
        config.attrs = &attribute;
        config.numAttrs = 1;
        int clusters = 0;
        CHECK(cudaOccupancyMaxActiveClusters(&clusters, count, &config));
        CHECK(cudaMemset(counts, 0, bins * sizeof(unsigned)));
        CHECK(cudaLaunchKernelEx(&config, count, (const unsigned *)on_gpu, length, counts));
        CHECK(cudaMemcpy(found.data(), counts, bins * sizeof(unsigned), cudaMemcpyDeviceToHost));
        for (int bin = 0; bin < bins; bin++) wrong += found[bin] != expected[bin];
        config.gridDim = 33;
        cudaError_t refused = cudaLaunchKernelEx(&config, count, (const unsigned *)on_gpu, length, counts);
        wrong += refused != (blocks == 1 ? cudaSuccess : cudaErrorInvalidClusterSize);
        wrong += clusters < 1;
        cudaGetLastError();
        checked += bins + 2;
    }
    CHECK(cudaMemset(counts, 0, sizeof(unsigned)));
    fixed<<<6, 64>>>(counts);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(found.data(), counts, sizeof(unsigned), cudaMemcpyDeviceToHost));
    wrong += found[0] != 12;
    CHECK(cudaFree(on_gpu));
    CHECK(cudaFree(counts));
    return verdict("cluster_histogram", wrong, checked + 1);
}
