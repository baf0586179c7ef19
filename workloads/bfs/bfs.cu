// arch: compute_75
// Breadth-first search, one thread per node, two kernels per level (Harish and Narayanan, HiPC 2007).
//
// Two kernels are needed because a node reached in this level must not expand in this level: `bfs_expand`
// only marks it in `reached`, `bfs_advance` moves the marks into `frontier` once every thread has expanded.

struct Node {
    unsigned first_edge;
    unsigned degree;
};

extern "C" __global__ void bfs_expand(const Node *nodes, const unsigned *edges, bool *frontier, bool *reached,
                                      const bool *visited, int *cost, unsigned node_count)
{
    unsigned node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= node_count || !frontier[node])
        return;
    frontier[node] = false;
    unsigned first = nodes[node].first_edge;
    unsigned last = first + nodes[node].degree;
    for (unsigned edge = first; edge < last; edge++) {
        unsigned neighbor = edges[edge];
        if (!visited[neighbor]) {
            // Every thread of this level that gets here writes the same value.
            cost[neighbor] = cost[node] + 1;
            reached[neighbor] = true;
        }
    }
}

extern "C" __global__ void bfs_advance(bool *frontier, bool *reached, bool *visited, bool *another_level,
                                       unsigned node_count)
{
    unsigned node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= node_count || !reached[node])
        return;
    frontier[node] = true;
    visited[node] = true;
    *another_level = true;
    reached[node] = false;
}
