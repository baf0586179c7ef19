// arch: compute_75
// Exact matching of short queries in the suffix tree of a genome, one thread per query. For every start in its query a
// thread finds the longest match; from one start to the next it follows a suffix link instead of beginning at the root.

#define LEAF 0x80000000u
#define NO_CHILD 0u
#define ROOT 0u

// An inner node. Its string is the `depth` bases of the genome at `position`. A child is the index of an inner node, or
// LEAF and the start of a suffix; `link` is the node whose string is this one's without its first base.
struct Node {
    unsigned child[4];
    unsigned position;
    unsigned depth;
    unsigned link;
    unsigned unused;
};

struct Match {
    unsigned position;
    unsigned length;
};

extern "C" __global__ void mum_match(const Node *tree, const unsigned char *genome, unsigned genome_bases,
                                     const unsigned char *queries, unsigned query_count, unsigned query_length,
                                     unsigned minimum_match, Match *matches)
{
    unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= query_count)
        return;
    const unsigned char *query = queries + (unsigned long long)index * query_length;
    unsigned starts = query_length - minimum_match + 1;
    Match *found = matches + (unsigned long long)index * starts;

    unsigned node = ROOT;
    unsigned matched = 0;
    for (unsigned start = 0; start < starts; start++) {
        unsigned left = query_length - start;
        unsigned position = tree[node].position;
        for (;;) {
            unsigned depth = tree[node].depth;
            if (depth == left)
                break;
            unsigned child = tree[node].child[query[start + depth]];
            if (child == NO_CHILD)
                break;
            bool is_leaf = child & LEAF;
            position = is_leaf ? child & ~LEAF : tree[child].position;
            unsigned edge_end = is_leaf ? genome_bases - position : tree[child].depth;
            // Bases below `matched` are known to agree since the last start: skipped, not compared.
            while (matched < edge_end && matched < left && genome[position + matched] == query[start + matched])
                matched++;
            if (is_leaf || matched < edge_end)
                break;
            node = child;
        }
        found[start].position = matched >= minimum_match ? position : 0;
        found[start].length = matched >= minimum_match ? matched : 0;
        node = tree[node].link;
        if (matched > 0)
            matched--;
    }
}
