// arch: compute_80
// Products of fragments: every shape and type, both layouts of each factor, both of the sums, strides beyond the matrix.
#include "common.cuh"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
using wmma::col_major;
using wmma::row_major;

template <int M, int N, int K, typename Fragment, typename Element, typename Sum, typename LayoutA, typename LayoutB>
__device__ void product(const Element *a, const Element *b, const Sum *c, Sum *d, u32 lda, u32 ldb, u32 ldc, u32 by_rows) {
    wmma::fragment<wmma::matrix_a, M, N, K, Fragment, LayoutA> left;
    wmma::fragment<wmma::matrix_b, M, N, K, Fragment, LayoutB> right;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;
    auto order = by_rows ? wmma::mem_row_major : wmma::mem_col_major;
    wmma::load_matrix_sync(left, a, lda);
    wmma::load_matrix_sync(right, b, ldb);
    wmma::load_matrix_sync(sum, c, ldc, order);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(d, sum, ldc, order);
}

#define KERNEL(name, M, N, K, Fragment, Element, Sum, A, B)                                                              \
    extern "C" __global__ void name##_##M##x##N##x##K##_##A##_##B(const Element *a, const Element *b, const Sum *c, Sum *d, \
                                                                u32 lda, u32 ldb, u32 ldc, u32 by_rows) {               \
        product<M, N, K, Fragment, Element, Sum, A, B>(a, b, c, d, lda, ldb, ldc, by_rows);                               \
    }
#define BOTH(name, M, N, K, Fragment, Element, Sum)                        \
    KERNEL(name, M, N, K, Fragment, Element, Sum, row_major, col_major)    \
    KERNEL(name, M, N, K, Fragment, Element, Sum, col_major, row_major)
#define SHAPES(name, Element, Sum)                     \
    BOTH(name, 16, 16, 16, Element, Element, Sum)      \
    BOTH(name, 32, 8, 16, Element, Element, Sum)       \
    BOTH(name, 8, 32, 16, Element, Element, Sum)

SHAPES(f16_f32, half, float)
SHAPES(f16_f16, half, half)
SHAPES(bf16_f32, __nv_bfloat16, float)
SHAPES(s8_s32, signed char, int)
SHAPES(u8_s32, unsigned char, int)
BOTH(tf32_f32, 16, 16, 8, wmma::precision::tf32, float, float)
BOTH(f64_f64, 8, 8, 4, double, double, double)
KERNEL(f16_f32, 16, 16, 16, half, half, float, row_major, row_major)
KERNEL(f16_f32, 16, 16, 16, half, half, float, col_major, col_major)

// By way of shared memory, where the factors lie padded.
extern "C" __global__ void shared_tiles(const half *a, const half *b, float *d, u32 steps) {
    __shared__ __align__(32) half left[16 * 24], right[16 * 24];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, row_major> fragment_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, row_major> fragment_b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.5f);
    for (u32 step = 0; step < steps; step++) {
        for (u32 i = threadIdx.x; i < 256; i += 32) {
            left[i / 16 * 24 + i % 16] = a[step * 256 + i];
            right[i / 16 * 24 + i % 16] = b[step * 256 + i];
        }
        __syncwarp();
        wmma::load_matrix_sync(fragment_a, left, 24);
        wmma::load_matrix_sync(fragment_b, right, 24);
        wmma::mma_sync(sum, fragment_a, fragment_b, sum);
        __syncwarp();
    }
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] = sum.x[i] * 2 - 1;
    wmma::store_matrix_sync(d, sum, 16, wmma::mem_row_major);
}

// Bits: the rows of a and the columns of b are 128 bits, 32 to a word.
#define BITS(name, op)                                                                                                \
    extern "C" __global__ void bits_##name(const u32 *a, const u32 *b, int *d, u32 by_rows) {                       \
        using namespace wmma::experimental;                                                                          \
        wmma::fragment<wmma::matrix_a, 8, 8, 128, precision::b1, row_major> left;                                    \
        wmma::fragment<wmma::matrix_b, 8, 8, 128, precision::b1, col_major> right;                                   \
        wmma::fragment<wmma::accumulator, 8, 8, 128, int> sum;                                                       \
        wmma::fill_fragment(sum, 5);                                                                                 \
        wmma::load_matrix_sync(left, a, 256);                                                                        \
        wmma::load_matrix_sync(right, b, 128);                                                                       \
        wmma::bmma_sync(sum, left, right, sum, op);                                                                  \
        wmma::store_matrix_sync(d, sum, 8, by_rows ? wmma::mem_row_major : wmma::mem_col_major);                     \
    }
BITS(xor, bmmaBitOpXOR)
BITS(and, bmmaBitOpAND)
