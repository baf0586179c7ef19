// Tiles of matrices, copied by tensor maps: a transpose through swizzled shared memory, a matrix product whose next tiles load
// while a block computes, and what cuTensorMapEncodeTiled takes and refuses. With the argument "early", threads read a tile
// without waiting for it.
#include <cuda.h>
#include <cuda/barrier>
#include <cstring>
#include <vector>

#include "expect.cuh"

#pragma nv_diag_suppress static_var_with_dynamic_init
#pragma nv_diag_suppress 1444

using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;

constexpr int TILE = 32, THREADS = 128;
constexpr unsigned TILE_BYTES = TILE * TILE * sizeof(float);

// Where element (row, column) of a tile lies that was copied with a swizzle of 128 bytes.
__device__ int swizzled(int row, int column) { return row * TILE + ((column / 4 ^ row % 8) * 4 + column % 4); }

__global__ void transpose(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
    __shared__ alignas(1024) float in[TILE * TILE];
    __shared__ alignas(1024) float out[TILE * TILE];
    __shared__ Barrier full;
    int x = blockIdx.x * TILE, y = blockIdx.y * TILE;
    if (threadIdx.x == 0) {
        init(&full, THREADS);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    Barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_global_to_shared(in, &from, x, y, full);
        token = cuda::device::barrier_arrive_tx(full, 1, sizeof in);
    } else {
        token = full.arrive();
    }
    full.wait(std::move(token));
    for (int i = threadIdx.x; i < TILE * TILE; i += THREADS) out[swizzled(i / TILE, i % TILE)] = in[swizzled(i % TILE, i / TILE)];
    cde::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_shared_to_global(&to, y, x, out);
        cde::cp_async_bulk_commit_group();
        cde::cp_async_bulk_wait_group_read<0>();
    }
}

__constant__ CUtensorMap map_a, map_b;

__device__ Barrier::arrival_token load(float (*a)[TILE * TILE], float (*b)[TILE * TILE], Barrier *full, int step, int row, int column) {
    int at = step % 2;
    if (threadIdx.x != 0) return full[at].arrive();
    cde::cp_async_bulk_tensor_2d_global_to_shared(a[at], &map_a, step * TILE, row, full[at]);
    cde::cp_async_bulk_tensor_2d_global_to_shared(b[at], &map_b, column, step * TILE, full[at]);
    return cuda::device::barrier_arrive_tx(full[at], 1, 2 * TILE_BYTES);
}

// c += a b: zeros stand for what is outside of a and b, and nothing is added outside of c.
__global__ void multiply(const __grid_constant__ CUtensorMap c, int depth, bool early) {
    __shared__ alignas(128) float a[2][TILE * TILE];
    __shared__ alignas(128) float b[2][TILE * TILE];
    __shared__ alignas(128) float sums[TILE * TILE];
    __shared__ Barrier full[2];
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE, steps = (depth + TILE - 1) / TILE;
    if (threadIdx.x == 0) {
        init(&full[0], THREADS);
        init(&full[1], THREADS);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    float own[TILE * TILE / THREADS] = {};
    Barrier::arrival_token tokens[2];
    tokens[0] = load(a, b, full, 0, row, column);
    for (int step = 0; step < steps; ++step) {
        if (step + 1 < steps) tokens[(step + 1) % 2] = load(a, b, full, step + 1, row, column);
        if (!early) full[step % 2].wait(std::move(tokens[step % 2]));
        for (int i = 0; i < TILE * TILE / THREADS; i++) {
            int at = i * THREADS + threadIdx.x, y = at / TILE, x = at % TILE;
            for (int k = 0; k < TILE; k++)
                own[i] += a[step % 2][y * TILE + k] * b[step % 2][k * TILE + x];  // HERE early
        }
        __syncthreads();
    }
    for (int i = 0; i < TILE * TILE / THREADS; i++) sums[i * THREADS + threadIdx.x] = own[i];
    cde::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];"
                     ::"l"(&c), "r"(column), "r"(row), "r"((unsigned)__cvta_generic_to_shared(sums)) : "memory");
        cde::cp_async_bulk_commit_group();
        cde::cp_async_bulk_wait_group_read<0>();
    }
}

using Encode = decltype(&cuTensorMapEncodeTiled);
using Replace = decltype(&cuTensorMapReplaceAddress);
static Encode encode;
static Replace replace;

// A row-major matrix of floats whose rows begin `pitch` floats apart.
static CUresult matrix(CUtensorMap *map, float *data, size_t rows, size_t columns, size_t pitch, CUtensorMapSwizzle swizzle) {
    cuuint64_t sizes[2] = {columns, rows}, strides[1] = {pitch * sizeof(float)};
    cuuint32_t box[2] = {TILE, TILE}, steps[2] = {1, 1};
    return encode(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, data, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

template <class Function>
static void find(const char *name, Function *function) {
    void *found = nullptr;
    cudaDriverEntryPointQueryResult status;
    OK(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &status));
    EXPECT(status == cudaDriverEntryPointSuccess && found);
    *function = (Function)found;
}

static void check_arguments(float *data) {
    alignas(64) CUtensorMap map[2];
    EXPECT(matrix(&map[0], data, 64, 64, 64, CU_TENSOR_MAP_SWIZZLE_128B) == CUDA_SUCCESS);
    EXPECT(matrix((CUtensorMap *)((char *)map + 32), data, 64, 64, 64, CU_TENSOR_MAP_SWIZZLE_NONE) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(matrix(nullptr, data, 64, 64, 64, CU_TENSOR_MAP_SWIZZLE_NONE) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(matrix(map, data + 1, 64, 64, 64, CU_TENSOR_MAP_SWIZZLE_NONE) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(matrix(map, data, 64, 64, 65, CU_TENSOR_MAP_SWIZZLE_NONE) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(matrix(map, data, 0, 64, 64, CU_TENSOR_MAP_SWIZZLE_NONE) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(matrix(map, data, 64, 64, 64, CU_TENSOR_MAP_SWIZZLE_64B) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(matrix(map, data, 64, 64, 64, (CUtensorMapSwizzle)99) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(replace(map, data + 4) == CUDA_SUCCESS);
    EXPECT(replace(map, data + 1) == CUDA_ERROR_INVALID_VALUE);
    memset(map, 0, sizeof map);
    EXPECT(replace(map, data) == CUDA_ERROR_INVALID_VALUE);
    decltype(&cuTensorMapEncodeIm2col) im2col;
    find("cuTensorMapEncodeIm2col", &im2col);
    EXPECT(im2col(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, data, nullptr, nullptr, nullptr, nullptr, 1, 1, nullptr,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_ERROR_NOT_SUPPORTED);
}

static float *upload(const std::vector<float> &values) {
    float *data;
    OK(cudaMalloc(&data, values.size() * sizeof(float)));
    OK(cudaMemcpy(data, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
    return data;
}

// The sizes are no multiples of a tile.
static void check_transpose() {
    const int rows = 70, columns = 101, pitch = 104, turned = 72;
    std::vector<float> in(rows * pitch), out(columns * turned, -1);
    for (size_t i = 0; i < in.size(); i++) in[i] = i % 997;
    float *from = upload(in), *to = upload(out);
    alignas(64) CUtensorMap map_from, map_to;
    // The address of the first map is put in afterwards.
    EXPECT(matrix(&map_from, to, rows, columns, pitch, CU_TENSOR_MAP_SWIZZLE_128B) == CUDA_SUCCESS);
    EXPECT(replace(&map_from, from) == CUDA_SUCCESS);
    EXPECT(matrix(&map_to, to, columns, rows, turned, CU_TENSOR_MAP_SWIZZLE_128B) == CUDA_SUCCESS);
    transpose<<<dim3(4, 3), THREADS>>>(map_from, map_to);
    OK(cudaMemcpy(out.data(), to, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int y = 0; y < columns; y++)
        for (int x = 0; x < turned; x++) EXPECT(out[y * turned + x] == (x < rows ? in[x * pitch + y] : -1));
}

static void check_product(bool early) {
    const int rows = 50, columns = 76, depth = 100;
    std::vector<float> a(rows * depth), b(depth * columns), c(rows * columns);
    for (size_t i = 0; i < a.size(); i++) a[i] = int(i % 11) - 5;
    for (size_t i = 0; i < b.size(); i++) b[i] = int(i % 7) - 3;
    for (size_t i = 0; i < c.size(); i++) c[i] = i % 3;
    float *to = upload(c);
    alignas(64) CUtensorMap map;
    EXPECT(matrix(&map, upload(a), rows, depth, depth, CU_TENSOR_MAP_SWIZZLE_NONE) == CUDA_SUCCESS);
    OK(cudaMemcpyToSymbol(map_a, &map, sizeof map));
    EXPECT(matrix(&map, upload(b), depth, columns, columns, CU_TENSOR_MAP_SWIZZLE_NONE) == CUDA_SUCCESS);
    OK(cudaMemcpyToSymbol(map_b, &map, sizeof map));
    EXPECT(matrix(&map, to, rows, columns, columns, CU_TENSOR_MAP_SWIZZLE_NONE) == CUDA_SUCCESS);
    multiply<<<dim3(3, 2), THREADS>>>(map, depth, early);
    std::vector<float> found(c.size());
    OK(cudaMemcpy(found.data(), to, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int y = 0; y < rows && !early; y++)
        for (int x = 0; x < columns; x++) {
            float wanted = c[y * columns + x];
            for (int k = 0; k < depth; k++) wanted += a[y * depth + k] * b[k * columns + x];
            EXPECT(found[y * columns + x] == wanted);
        }
}

int main(int argc, char **argv) {
    bool early = argc > 1 && !strcmp(argv[1], "early");
    int supported = 0;
    OK(cudaDeviceGetAttribute(&supported, (cudaDeviceAttr)CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 0));
    EXPECT(supported == 1);
    find("cuTensorMapEncodeTiled", &encode);
    find("cuTensorMapReplaceAddress", &replace);
    float *data;
    OK(cudaMalloc(&data, 64 * 64 * sizeof(float)));
    check_arguments(data);
    check_transpose();
    check_product(early);
    OK(cudaGetLastError());
    printf("tensor_copy: %d wrong\n", wrong);
    return wrong != 0;
}
