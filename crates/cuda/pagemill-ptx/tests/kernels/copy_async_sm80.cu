// arch: compute_80
// Asynchronous copies, and a product of matrices made of everything that such programs use.
#include "common.cuh"

#define TO_SHARED(pointer) ((u32)__cvta_generic_to_shared(pointer))

// Copies of 4, 8 and 16 bytes; what is not read becomes zero.
extern "C" __global__ void sizes(const u32 *in, u32 *out, u32 read) {
    __shared__ __align__(16) u32 tile[4 * 32 * 4];
    u32 t = threadIdx.x;
    for (u32 i = t; i < 512; i += 32) tile[i] = 0xAAAAAAAA;
    __syncwarp();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(TO_SHARED(tile + t * 4)), "l"(in + t * 4));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(TO_SHARED(tile + 128 + t * 4)), "l"(in + t * 4));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(TO_SHARED(tile + 256 + t * 4)), "l"(in + t * 4));
    const u32 *from = read ? in + t * 4 : (const u32 *)16;
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(TO_SHARED(tile + 384 + t * 4)), "l"(from),
                 "r"(read));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 0;");
    __syncwarp();
    for (u32 i = t; i < 512; i += 32) out[i] = tile[i];
}

// C = A B with A of rows of `depth` halves and B of columns of `depth` halves: tiles of 32 by 32, 16 deep, two stages.
extern "C" __global__ void product(const u16 *a, const u16 *b, float *c, u32 columns, u32 depth) {
    __shared__ __align__(16) u16 tiles[2][2][32][16];
    u32 t = threadIdx.x, warp = t / 32, lane = t % 32;
    u32 row0 = blockIdx.y * 32, column0 = blockIdx.x * 32;
    u32 which = t / 64, row = t % 64 / 2, half = t % 2 * 8;
    const u16 *from = (which ? b + (column0 + row) * depth : a + (row0 + row) * depth) + half;
    float sums[2][4] = {};
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(TO_SHARED(&tiles[0][which][row][half])), "l"(from));
    asm volatile("cp.async.commit_group;");
    for (u32 k = 0; k < depth; k += 16) {
        u32 stage = k / 16 % 2;
        if (k + 16 < depth)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(TO_SHARED(&tiles[1 - stage][which][row][half])),
                         "l"(from + k + 16));
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        u32 x[4], y[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(TO_SHARED(&tiles[stage][0][warp / 2 * 16 + lane % 16][lane / 16 * 8])));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3])
                     : "r"(TO_SHARED(&tiles[stage][1][warp % 2 * 16 + lane / 16 * 8 + lane % 8][lane / 8 % 2 * 8])));
        for (u32 n = 0; n < 2; ++n)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(sums[n][0]), "+f"(sums[n][1]), "+f"(sums[n][2]), "+f"(sums[n][3])
                         : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[2 * n]), "r"(y[2 * n + 1]));
        __syncthreads();
    }
    for (u32 n = 0; n < 2; ++n)
        for (u32 i = 0; i < 4; ++i) {
            u32 to_row = row0 + warp / 2 * 16 + lane / 4 + i / 2 * 8;
            u32 to_column = column0 + warp % 2 * 16 + n * 8 + lane % 4 * 2 + i % 2;
            c[to_row * columns + to_column] = sums[n][i];
        }
}
