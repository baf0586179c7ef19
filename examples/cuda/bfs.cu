// Breadth-first search of a random graph, a launch for each level; the CPU looks at a managed flag between them.
//
//   bfs [MiB of edges]
#include <queue>
#include <vector>

#include "check.h"

__global__ void expand(const int *first, const int *edges, int *level, int nodes, int current, int *grown) {
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || level[node] != current) return;
    for (int e = first[node]; e < first[node + 1]; e++) {
        if (level[edges[e]] < 0) {
            level[edges[e]] = current + 1;
            *grown = 1;
        }
    }
}

int main(int argc, char **argv) {
    const int degree = 3, nodes = argc > 1 ? int(atof(argv[1]) * (1 << 18)) / degree : 8192;
    int *first, *edges, *level, *grown;
    CHECK(cudaMallocManaged(&first, (nodes + 1) * sizeof(int)));
    CHECK(cudaMallocManaged(&edges, nodes * degree * sizeof(int)));
    CHECK(cudaMallocManaged(&level, nodes * sizeof(int)));
    CHECK(cudaMallocManaged(&grown, sizeof(int)));
    unsigned random = 12345;
    for (int i = 0; i <= nodes; i++) first[i] = i * degree;
    for (int i = 0; i < nodes * degree; i++) {
        random = random * 1103515245u + 12345u;
        edges[i] = (random >> 8) % nodes;
    }
    for (int i = 0; i < nodes; i++) level[i] = -1;
    level[0] = 0;
    int levels = 0;
    do {
        *grown = 0;
        expand<<<(nodes + 255) / 256, 256>>>(first, edges, level, nodes, levels, grown);
        CHECK(cudaDeviceSynchronize());
        levels++;
    } while (*grown);

    std::vector<int> reference(nodes, -1);
    std::queue<int> open;
    reference[0] = 0;
    open.push(0);
    while (!open.empty()) {
        int node = open.front();
        open.pop();
        for (int e = first[node]; e < first[node + 1]; e++) {
            if (reference[edges[e]] < 0) {
                reference[edges[e]] = reference[node] + 1;
                open.push(edges[e]);
            }
        }
    }
    long long wrong = 0;
    for (int i = 0; i < nodes; i++) wrong += level[i] != reference[i];
    return verdict("bfs", wrong, nodes);
}
