// Products of warp groups as libraries for Hopper write them: tiles arrive by tensor maps with a swizzle of 128 bytes while the
// group multiplies, in a matrix product that is right to the bit, and in attention with a running softmax. With the argument
// "early", a tile is loaded over one whose product one thread has waited for, without a barrier of the group.
#include <cuda.h>
#include <cuda/barrier>
#include <cuda_fp16.h>
#include <cmath>
#include <cstring>
#include <vector>

#include "expect.cuh"

#pragma nv_diag_suppress static_var_with_dynamic_init
#pragma nv_diag_suppress 1444

using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;

// A tile has 64 rows of 64 halves: 128 bytes.
constexpr int TILE = 64, GROUP = 128, TILE_HALVES = TILE * TILE, TILE_BYTES = TILE_HALVES * 2;

// The matrix of a tile, from byte `at` of its rows on; rows lie 128 bytes apart, eight of them 1024.
__device__ unsigned long long described(const half *tile, int at) {
    unsigned long long start = ((unsigned)__cvta_generic_to_shared(tile) + at) >> 4;
    return start | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

#define SUMS8(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define SUMS32(d) SUMS8(d, 0), SUMS8(d, 8), SUMS8(d, 16), SUMS8(d, 24)
#define AT32                                                                                                                      \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, " \
    "%26, %27, %28, %29, %30, %31}"

__device__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ void end_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// d = a b^T, or more by that: both tiles have the terms of a sum in a row.
__device__ void multiply_rows(float *d, const half *a, const half *b, bool adds) {
    begin_products();
    for (int k = 0; k < TILE; k += 16) {
        int add = adds || k > 0;
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " AT32
                     ", %32, %33, p, 1, 1, 0, 0; }"
                     : SUMS32(d)
                     : "l"(described(a, 2 * k)), "l"(described(b, 2 * k)), "r"(add));
    }
    end_products();
}

// d += p b: p in registers, and the terms of a sum in a column of b.
__device__ void add_product(float *d, const unsigned *p, const half *b) {
    begin_products();
    for (int k = 0; k < TILE; k += 16) {
        const unsigned *a = p + k / 4;
        asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " AT32 ", {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                     : SUMS32(d)
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(described(b + k * TILE, 0)));
    }
    end_products();
}

// Row and column of a thread's sum.
__device__ int row_of(int i) { return threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i % 4 / 2 * 8; }
__device__ int column_of(int i) { return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2; }

struct Tiles {
    half *buffers;
    Barrier *full;
    Barrier::arrival_token tokens[2];

    __device__ half *at(int step, int which) { return buffers + (step % 2 * 2 + which) * TILE_HALVES; }

    __device__ void load(int step, const CUtensorMap *a, int ax, int ay, const CUtensorMap *b, int bx, int by) {
        Barrier &barrier = full[step % 2];
        if (threadIdx.x == 0) {
            cde::cp_async_bulk_tensor_2d_global_to_shared(at(step, 0), a, ax, ay, barrier);
            cde::cp_async_bulk_tensor_2d_global_to_shared(at(step, 1), b, bx, by, barrier);
            tokens[step % 2] = cuda::device::barrier_arrive_tx(barrier, 1, 2 * TILE_BYTES);
        } else {
            tokens[step % 2] = barrier.arrive();
        }
    }

    __device__ void wait(int step) { full[step % 2].wait(std::move(tokens[step % 2])); }
};

__device__ void begin(Barrier *full) {
    if (threadIdx.x == 0) {
        init(&full[0], GROUP);
        init(&full[1], GROUP);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
}

// c = a b^T, of matrices of halves whose rows are the sums' terms.
__global__ void product(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float *c, int columns, int depth,
                        bool early) {
    extern __shared__ __align__(1024) half buffers[];
    __shared__ Barrier full[2];
    begin(full);
    Tiles tiles{buffers, full};
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE, steps = depth / TILE;
    float d[32];
    tiles.load(0, &a, 0, row, &b, 0, column);
    for (int step = 0; step < steps; step++) {
        if (step + 1 < steps) tiles.load(step + 1, &a, (step + 1) * TILE, row, &b, (step + 1) * TILE, column);
        tiles.wait(step);
        multiply_rows(d, tiles.at(step, 0), tiles.at(step, 1), step > 0);
        if (!early) __syncthreads();
    }
    for (int i = 0; i < 32; i++) c[(row + row_of(i)) * columns + column + column_of(i)] = d[i];
}

// The largest, or the sum, of the values of four threads that share rows.
template <class Join> __device__ float joined(float value, Join join) {
    value = join(value, __shfl_xor_sync(~0u, value, 1));
    return join(value, __shfl_xor_sync(~0u, value, 2));
}

// out = softmax(q k^T / 8) v, block by block of k and v.
__global__ void attend(const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k, const __grid_constant__ CUtensorMap v,
                       float *out, int keys) {
    extern __shared__ __align__(1024) half buffers[];
    __shared__ Barrier full[2], ready;
    begin(full);
    if (threadIdx.x == 0) {
        init(&ready, GROUP);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    half *queries = buffers + 4 * TILE_HALVES;
    int row = blockIdx.x * TILE, steps = keys / TILE;
    Barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_global_to_shared(queries, &q, 0, row, ready);
        token = cuda::device::barrier_arrive_tx(ready, 1, TILE_BYTES);
    } else {
        token = ready.arrive();
    }
    ready.wait(std::move(token));
    Tiles tiles{buffers, full};
    tiles.load(0, &k, 0, 0, &v, 0, 0);
    float scores[32], sums[32] = {}, largest[2] = {-INFINITY, -INFINITY}, total[2] = {};
    for (int step = 0; step < steps; step++) {
        if (step + 1 < steps) tiles.load(step + 1, &k, 0, (step + 1) * TILE, &v, 0, (step + 1) * TILE);
        tiles.wait(step);
        multiply_rows(scores, queries, tiles.at(step, 0), false);
        for (int half_of = 0; half_of < 2; half_of++) {
            float most = largest[half_of];
            for (int i = 0; i < 32; i++)
                if (i % 4 / 2 == half_of) most = fmaxf(most, scores[i] / 8);
            most = joined(most, [](float x, float y) { return fmaxf(x, y); });
            float shrinks = expf(largest[half_of] - most), sum = 0;
            for (int i = 0; i < 32; i++) {
                if (i % 4 / 2 != half_of) continue;
                scores[i] = expf(scores[i] / 8 - most);
                sums[i] *= shrinks;
                sum += scores[i];
            }
            total[half_of] = total[half_of] * shrinks + joined(sum, [](float x, float y) { return x + y; });
            largest[half_of] = most;
        }
        unsigned weights[16];
        for (int i = 0; i < 16; i++) {
            half2 pair = __floats2half2_rn(scores[2 * i], scores[2 * i + 1]);
            memcpy(&weights[i], &pair, 4);
        }
        add_product(sums, weights, tiles.at(step, 1));
        __syncthreads();
    }
    for (int i = 0; i < 32; i++) out[(row + row_of(i)) * TILE + column_of(i)] = sums[i] / total[i % 4 / 2];
}

static CUtensorMap map_of(half *data, size_t rows, size_t columns) {
    void *found = nullptr;
    cudaDriverEntryPointQueryResult status;
    OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status));
    CUtensorMap map;
    cuuint64_t sizes[2] = {columns, rows}, strides[1] = {columns * sizeof(half)};
    cuuint32_t box[2] = {TILE, TILE}, steps[2] = {1, 1};
    CUresult made = ((decltype(&cuTensorMapEncodeTiled))found)(
        &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, data, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    EXPECT(made == CUDA_SUCCESS);
    return map;
}

// A matrix of small multiples of an eighth, on the GPU too.
struct Matrix {
    std::vector<half> host;
    half *device;
    size_t rows, columns;

    Matrix(size_t rows, size_t columns, unsigned seed) : host(rows * columns), rows(rows), columns(columns) {
        for (half &value : host) {
            seed = seed * 1664525 + 1013904223;
            value = (float)((int)(seed >> 24) % 33 - 16) / 8;
        }
        OK(cudaMalloc(&device, host.size() * sizeof(half)));
        OK(cudaMemcpy(device, host.data(), host.size() * sizeof(half), cudaMemcpyHostToDevice));
    }

    float at(size_t row, size_t column) const { return host[row * columns + column]; }
    CUtensorMap map() { return map_of(device, rows, columns); }
};

static void check_product(bool early) {
    const int rows = 128, columns = 192, depth = 256;
    Matrix a(rows, depth, 1), b(columns, depth, 2);
    std::vector<float> c(rows * columns);
    float *device;
    OK(cudaMalloc(&device, c.size() * sizeof(float)));
    product<<<dim3(columns / TILE, rows / TILE), GROUP, 4 * TILE_BYTES>>>(a.map(), b.map(), device, columns, depth, early);
    OK(cudaMemcpy(c.data(), device, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    int different = 0;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            float sum = 0;
            for (int k = 0; k < depth; k++) sum += a.at(y, k) * b.at(x, k);
            different += c[y * columns + x] != sum;
        }
    EXPECT(different == 0);
}

static void check_attention() {
    const int queries = 128, keys = 192;
    Matrix q(queries, TILE, 3), k(keys, TILE, 4), v(keys, TILE, 5);
    std::vector<float> out(queries * TILE);
    float *device;
    OK(cudaMalloc(&device, out.size() * sizeof(float)));
    attend<<<queries / TILE, GROUP, 5 * TILE_BYTES>>>(q.map(), k.map(), v.map(), device, keys);
    OK(cudaMemcpy(out.data(), device, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
    double worst = 0;
    for (int y = 0; y < queries; y++) {
        std::vector<double> weights(keys);
        double total = 0;
        for (int i = 0; i < keys; i++) {
            double score = 0;
            for (int x = 0; x < TILE; x++) score += q.at(y, x) * k.at(i, x);
            total += weights[i] = std::exp(score / 8);
        }
        for (int x = 0; x < TILE; x++) {
            double wanted = 0;
            for (int i = 0; i < keys; i++) wanted += weights[i] / total * v.at(i, x);
            worst = std::fmax(worst, std::fabs(out[y * TILE + x] - wanted));
        }
    }
    EXPECT(worst < 2e-3);
}

int main(int count, char **arguments) {
    bool early = count > 1 && !strcmp(arguments[1], "early");
    OK(cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, 4 * TILE_BYTES));
    OK(cudaFuncSetAttribute(attend, cudaFuncAttributeMaxDynamicSharedMemorySize, 5 * TILE_BYTES));
    check_product(early);
    check_attention();
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
