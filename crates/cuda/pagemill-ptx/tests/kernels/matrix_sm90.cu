// arch: compute_90
// Matrices of 16-bit elements that lanes transpose and store, and atomic accesses to vectors.
#include "common.cuh"

extern "C" __global__ void transpose(const u32 *in, u32 *out) {
    u32 moved;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(moved) : "r"(in[threadIdx.x]));
    out[threadIdx.x] = moved;
}

// Four matrices as they lie and transposed, two of them by a generic address, one at a constant offset; rows lie 48 bytes apart.
extern "C" __global__ void store(const u32 *words, u32 *out) {
    __shared__ __align__(16) u32 tile[4][32 * 12];
    u32 t = threadIdx.x, r[4];
    for (u32 i = t; i < 4 * 32 * 12; i += 32) tile[0][i] = 0;
    for (u32 i = 0; i < 4; ++i) r[i] = words[i * 32 + t];
    __syncwarp();
    u32 at = (u32)__cvta_generic_to_shared(&tile[0][12 * t]);
    u32 across = (u32)__cvta_generic_to_shared(&tile[1][12 * t]);
    u32 last = (u32)__cvta_generic_to_shared(&tile[3][12 * t]);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(at), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(across), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x2.b16 [%0], {%1, %2};" :: "l"(&tile[2][12 * t]), "r"(r[2]), "r"(r[3]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0 + 16], {%1};" :: "r"(last), "r"(r[1]) : "memory");
    __syncwarp();
    for (u32 i = t; i < 4 * 32 * 12; i += 32) out[i] = tile[0][i];
}

extern "C" __global__ void store_between_rows(u32 apart) {
    __shared__ __align__(16) u32 tile[64];
    u32 at = (u32)__cvta_generic_to_shared(tile) + 16 * threadIdx.x + apart;
    if (threadIdx.x >= 8) at = 0;
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" :: "r"(at), "r"(7) : "memory");
}

// Every thread adds to the same elements. What the forms with a result return is counted.
extern "C" __global__ void vectors(float *f32, u32 *halves, u32 *bounds, u32 *seen) {
    float a, b;
    asm volatile("red.global.v4.f32.add [%0], {%1, %2, %3, %4};" :: "l"(f32), "f"(1.0f), "f"(2.0f), "f"(3.0f), "f"(4.0f) : "memory");
    asm volatile("atom.global.v2.f32.add {%0, %1}, [%2], {%3, %4};"
                 : "=f"(a), "=f"(b) : "l"(f32 + 4), "f"(1.0f), "f"(2.0f) : "memory");
    if (b == 2.0f * a) atomicAdd(seen, 1);
    asm volatile("red.global.v2.f16x2.add.noftz [%0], {%1, %2};" :: "l"(halves), "r"(0x3C003C00u), "r"(0x40004000u) : "memory");
    asm volatile("red.global.v4.bf16x2.add.noftz [%0], {%1, %2, %3, %4};"
                 :: "l"(halves + 2), "r"(0x3F803F80u), "r"(0x40004000u), "r"(0u), "r"(0x40803F80u) : "memory");
    unsigned short low = 0x3C00u + threadIdx.x, high = 0x4000u + threadIdx.x;
    asm volatile("red.global.v2.f16.min.noftz [%0], {%1, %2};" :: "l"(bounds), "h"(low), "h"(high) : "memory");
    asm volatile("red.global.v2.f16.max.noftz [%0], {%1, %2};" :: "l"(bounds + 1), "h"(low), "h"(high) : "memory");
}
