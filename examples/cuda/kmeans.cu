// K-means in managed memory: the GPU assigns points to the nearest center and adds them up, the CPU moves the centers.
//
//   kmeans [MiB of points]
#include <climits>
#include <cstring>

#include "check.h"

const int clusters = 8, dimensions = 4, rounds = 4;

// Whole numbers: every sum is exact, in whatever order.
struct Point {
    int at[dimensions];
};

struct Sum {
    unsigned long long at[dimensions];
    unsigned long long count;
};

__host__ __device__ inline int nearest(const Point &point, const Point *centers) {
    int best = 0, least = INT_MAX;
    for (int c = 0; c < clusters; c++) {
        int distance = 0;
        for (int d = 0; d < dimensions; d++) {
            const int apart = point.at[d] - centers[c].at[d];
            distance += apart * apart;
        }
        if (distance < least) {
            least = distance;
            best = c;
        }
    }
    return best;
}

__global__ void assign(const Point *points, int count, const Point *centers, int *labels, Sum *sums) {
    __shared__ Point own[clusters];
    __shared__ Sum partial[clusters];
    if (threadIdx.x < clusters) {
        own[threadIdx.x] = centers[threadIdx.x];
        partial[threadIdx.x] = Sum();
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const Point point = points[i];
        const int label = nearest(point, own);
        labels[i] = label;
        for (int d = 0; d < dimensions; d++) atomicAdd(&partial[label].at[d], (unsigned long long)point.at[d]);
        atomicAdd(&partial[label].count, 1ull);
    }
    __syncthreads();
    if (threadIdx.x < clusters) {
        for (int d = 0; d < dimensions; d++) atomicAdd(&sums[threadIdx.x].at[d], partial[threadIdx.x].at[d]);
        atomicAdd(&sums[threadIdx.x].count, partial[threadIdx.x].count);
    }
}

void move_centers(const Sum *sums, Point *centers) {
    for (int c = 0; c < clusters; c++) {
        for (int d = 0; d < dimensions && sums[c].count > 0; d++) centers[c].at[d] = int(sums[c].at[d] / sums[c].count);
    }
}

int main(int argc, char **argv) {
    const int count = int((argc > 1 ? atof(argv[1]) : 1) * (1 << 20) / sizeof(Point));
    Point *points, *centers;
    int *labels;
    Sum *sums;
    CHECK(cudaMallocManaged(&points, count * sizeof(Point)));
    CHECK(cudaMallocManaged(&centers, clusters * sizeof(Point)));
    CHECK(cudaMallocManaged(&labels, count * sizeof(int)));
    CHECK(cudaMallocManaged(&sums, clusters * sizeof(Sum)));
    unsigned random = 11;
    for (int i = 0; i < count; i++) {
        for (int d = 0; d < dimensions; d++) {
            random = random * 1664525u + 1013904223u;
            points[i].at[d] = int(random >> 24) + (i % clusters) * 100;
        }
    }
    Point expected[clusters];
    for (int c = 0; c < clusters; c++) centers[c] = expected[c] = points[c];

    for (int round = 0; round < rounds; round++) {
        memset(sums, 0, clusters * sizeof(Sum));
        assign<<<512, 256>>>(points, count, centers, labels, sums);
        CHECK(cudaDeviceSynchronize());
        move_centers(sums, centers);
    }

    long long wrong = 0;
    for (int round = 0; round < rounds; round++) {
        Sum found[clusters] = {};
        for (int i = 0; i < count; i++) {
            const int label = nearest(points[i], expected);
            for (int d = 0; d < dimensions; d++) found[label].at[d] += points[i].at[d];
            found[label].count++;
            if (round == rounds - 1) wrong += labels[i] != label;
        }
        move_centers(found, expected);
    }
    wrong += memcmp(centers, expected, sizeof expected) != 0;
    CHECK(cudaFree(points));
    CHECK(cudaFree(centers));
    CHECK(cudaFree(labels));
    CHECK(cudaFree(sums));
    return verdict("kmeans", wrong, count + 1);
}
