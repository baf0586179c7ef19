// BFS and PageRank on a graph by chance, in memory or in a file: `graph NODES EDGES_PER_NODE [FILE]`.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t mix(uint64_t z) {
    z += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static int file = -1;
static off_t file_bytes = 0;

// Memory of zeros, anonymous or a part of the file.
static void *allocate(size_t bytes) {
    bytes = (bytes + 4095) & ~(size_t)4095;
    void *memory;
    if (file < 0) {
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    } else {
        if (ftruncate(file, file_bytes + (off_t)bytes)) exit(2);
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, file_bytes);
        file_bytes += bytes;
    }
    if (memory == MAP_FAILED) exit(2);
    return memory;
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    uint32_t nodes = atoi(arguments[1]), degree = atoi(arguments[2]);
    if (count > 3 && (file = open(arguments[3], O_RDWR | O_CREAT | O_TRUNC, 0600)) < 0) return 2;
    uint32_t *target = allocate((size_t)nodes * degree * sizeof *target);
    // Half of the edges stay near, as in graphs of people and roads.
    for (uint64_t edge = 0; edge < (uint64_t)nodes * degree; edge++) {
        uint64_t chance = mix(edge);
        uint32_t from = edge / degree;
        target[edge] = chance & 1 ? (from + (chance >> 1) % 1024) % nodes : (chance >> 1) % nodes;
    }
    int32_t *depth = allocate((size_t)nodes * sizeof *depth);
    uint32_t *queue = allocate((size_t)nodes * sizeof *queue);
    uint32_t head = 0, tail = 0;
    uint64_t depths = 0;
    queue[tail++] = 0;
    depth[0] = 1;
    while (head < tail) {
        uint32_t node = queue[head++];
        depths += depth[node];
        for (uint32_t edge = 0; edge < degree; edge++) {
            uint32_t next = target[(uint64_t)node * degree + edge];
            if (!depth[next]) {
                depth[next] = depth[node] + 1;
                queue[tail++] = next;
            }
        }
    }
    double *rank = allocate((size_t)nodes * sizeof *rank), *next = allocate((size_t)nodes * sizeof *next);
    for (uint32_t node = 0; node < nodes; node++) rank[node] = 1.0 / nodes;
    for (int round = 0; round < 3; round++) {
        for (uint32_t node = 0; node < nodes; node++) next[node] = 0.15 / nodes;
        for (uint32_t node = 0; node < nodes; node++)
            for (uint32_t edge = 0; edge < degree; edge++)
                next[target[(uint64_t)node * degree + edge]] += 0.85 * rank[node] / degree;
        double *other = rank;
        rank = next;
        next = other;
    }
    double most = 0;
    for (uint32_t node = 0; node < nodes; node++) most = rank[node] > most ? rank[node] : most;
    printf("%u reached, depths %llu, largest rank %.17g\n", tail, (unsigned long long)depths, most);
    return 0;
}
