// arch: compute_75
// C = A B of matrices of floats by columns of `size` rows, in tiles of 128 x 64 as `sgemm` of cuBLAS has them on Volta: 128
// threads bring 8 columns of A and 8 rows of B to shared memory, while each computes 8 x 8 elements from what came before.

#define TILE_ROWS 128
#define TILE_COLUMNS 64
#define DEPTH 8

extern "C" __global__ void __launch_bounds__(128) matrix_product(const float *a, const float *b, float *c, unsigned size, unsigned columns_of_a)
{
    __shared__ float4 tile_a[2][DEPTH][TILE_ROWS / 4];
    __shared__ float tile_b[2][DEPTH][TILE_COLUMNS];
    unsigned thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    // Four words of a column of A twice, and four words of a column of B.
    const float *next_a = a + (size_t)warp * size + blockIdx.x * TILE_ROWS + lane * 4;
    const float *next_b = b + (size_t)(blockIdx.y * TILE_COLUMNS + thread / 2) * size + thread % 2 * 4;
    unsigned row = thread % 16, column = thread / 16;
    float sums[8][8] = {};
    float4 a0 = *(const float4 *)next_a, a1 = *(const float4 *)(next_a + 4 * (size_t)size);
    float4 b0 = *(const float4 *)next_b;
    unsigned side = 0;
#pragma unroll 1
    for (unsigned depth = 0; depth < columns_of_a; depth += DEPTH) {
        tile_a[side][warp][lane] = a0;
        tile_a[side][warp + 4][lane] = a1;
        unsigned from = thread % 2 * 4;
        tile_b[side][from][thread / 2] = b0.x;
        tile_b[side][from + 1][thread / 2] = b0.y;
        tile_b[side][from + 2][thread / 2] = b0.z;
        tile_b[side][from + 3][thread / 2] = b0.w;
        __syncthreads();
        next_a += DEPTH * (size_t)size;
        next_b += DEPTH;
        if (depth + DEPTH < columns_of_a) {
            a0 = *(const float4 *)next_a;
            a1 = *(const float4 *)(next_a + 4 * (size_t)size);
            b0 = *(const float4 *)next_b;
        }
#pragma unroll
        for (unsigned k = 0; k < DEPTH; ++k) {
            float4 low = tile_a[side][k][row], high = tile_a[side][k][row + 16];
            float of_a[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
            const float4 *of_b = (const float4 *)&tile_b[side][k][column * 8];
            float4 left = of_b[0], right = of_b[1];
            float values_b[8] = {left.x, left.y, left.z, left.w, right.x, right.y, right.z, right.w};
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    sums[i][j] += of_a[i] * values_b[j];
        }
        side ^= 1;
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        float *of_c = c + (size_t)(blockIdx.y * TILE_COLUMNS + column * 8 + j) * size + blockIdx.x * TILE_ROWS;
        *(float4 *)(of_c + row * 4) = make_float4(sums[0][j], sums[1][j], sums[2][j], sums[3][j]);
        *(float4 *)(of_c + 64 + row * 4) = make_float4(sums[4][j], sums[5][j], sums[6][j], sums[7][j]);
    }
}
