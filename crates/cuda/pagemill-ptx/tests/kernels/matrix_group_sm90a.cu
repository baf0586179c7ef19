// arch: compute_90a
// Products of a warp group: matrices that descriptors place in shared memory, with sums of every type.
#include "common.cuh"

#define AT4 "{%0, %1, %2, %3}"
#define AT8 "{%0, %1, %2, %3, %4, %5, %6, %7}"
#define AT16 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"
#define AT32                                                                                              \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
    "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define D4(c, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define D8(c, i) D4(c, i), D4(c, i + 4)
#define D16(c, i) D8(c, i), D8(c, i + 8)
#define D32(c, i) D16(c, i), D16(c, i + 16)
#define D2(c, i) c(d[i]), c(d[i + 1])
#define AT2 "{%0, %1}"

#define LOAD                                                                  \
    extern __shared__ __align__(1024) u32 tile[];                             \
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) tile[i] = image[i]; \
    __syncthreads();                                                          \
    u64 base = (u32)__cvta_generic_to_shared(tile) >> 4;

#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#define WAIT                                                        \
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); \
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");

// A and B from shared memory: sums of type T in COUNT registers, behind which the operands a, b and p stand.
#define SHARED(name, T, c, COUNT, a, b, p, form, tail)                                                                       \
    extern "C" __global__ void name(const u32 *image, u32 words, u64 at_a, u64 at_b, u32 adds, const T *sums, T *out) {      \
        LOAD T d[COUNT];                                                                                                     \
        for (u32 i = 0; i < COUNT; ++i) d[i] = sums[COUNT * threadIdx.x + i];                                                \
        FENCE asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %" #p ", 0; wgmma.mma_async.sync.aligned." form " " AT##COUNT \
                           ", %" #a ", %" #b ", adds" tail "; }"                                                             \
                           : D##COUNT(c, 0)                                                                                  \
                           : "l"(at_a + base), "l"(at_b + base), "r"(adds));                                                 \
        WAIT for (u32 i = 0; i < COUNT; ++i) out[COUNT * threadIdx.x + i] = d[i];                                            \
    }

SHARED(f16_f32_n64, float, "+f", 32, 32, 33, 34, "m64n64k16.f32.f16.f16", ", 1, 1, 0, 0")
SHARED(f16_f32_n64_across, float, "+f", 32, 32, 33, 34, "m64n64k16.f32.f16.f16", ", 1, 1, 1, 1")
SHARED(f16_f16_n8, u32, "+r", 2, 2, 3, 4, "m64n8k16.f16.f16.f16", ", 1, 1, 0, 0")
SHARED(bf16_f32_n16_minus, float, "+f", 8, 8, 9, 10, "m64n16k16.f32.bf16.bf16", ", -1, 1, 0, 1")
SHARED(tf32_f32_n32, float, "+f", 16, 16, 17, 18, "m64n32k8.f32.tf32.tf32", ", 1, 1")
SHARED(e4m3_e5m2_f32_n16, float, "+f", 8, 8, 9, 10, "m64n16k32.f32.e4m3.e5m2", ", 1, -1")
SHARED(e5m2_e4m3_f16_n16, u32, "+r", 4, 4, 5, 6, "m64n16k32.f16.e5m2.e4m3", ", -1, -1")
SHARED(s8_u8_n32, u32, "+r", 16, 16, 17, 18, "m64n32k32.s32.s8.u8", "")
SHARED(u8_s8_n16_sat, u32, "+r", 8, 8, 9, 10, "m64n16k32.s32.u8.s8.satfinite", "")
SHARED(b1_n8, u32, "+r", 4, 4, 5, 6, "m64n8k256.s32.b1.b1.and.popc", "")

// A from registers, four for each lane.
#define REGISTERS(name, T, c, COUNT, a0, a1, a2, a3, b, p, form, tail)                                                              \
    extern "C" __global__ void name(const u32 *image, u32 words, const u32 *rows, u64 at_b, u32 adds, const T *sums, T *out) {      \
        LOAD T d[COUNT];                                                                                                            \
        for (u32 i = 0; i < COUNT; ++i) d[i] = sums[COUNT * threadIdx.x + i];                                                       \
        const u32 *own = rows + 4 * threadIdx.x;                                                                                    \
        FENCE asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %" #p ", 0; wgmma.mma_async.sync.aligned." form " " AT##COUNT        \
                           ", {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b ", adds" tail "; }"                                   \
                           : D##COUNT(c, 0)                                                                                         \
                           : "r"(own[0]), "r"(own[1]), "r"(own[2]), "r"(own[3]), "l"(at_b + base), "r"(adds));                      \
        WAIT for (u32 i = 0; i < COUNT; ++i) out[COUNT * threadIdx.x + i] = d[i];                                                   \
    }

REGISTERS(f16_f32_n32_from_registers, float, "+f", 16, 16, 17, 18, 19, 20, 21, "m64n32k16.f32.f16.f16", ", 1, 1, 1")
REGISTERS(s8_s8_n16_from_registers, u32, "+r", 8, 8, 9, 10, 11, 12, 13, "m64n16k32.s32.s8.s8", "")

// Several groups each sum products of `rounds` pairs of tiles, A of 64 by 16 and B of 8 by 16 halves in rows of 8. One warp of the
// group, `refills[round]` of it, waits for the product and then replaces both tiles alone.
extern "C" __global__ void refilled(const u32 *tiles, const u32 *refills, u32 rounds, float *out) {
    __shared__ __align__(1024) u32 operands[4][576];
    u32 group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4;
    u64 at = (u32)__cvta_generic_to_shared(operands[group]) >> 4 | 8ull << 16 | 16ull << 32;
    const u32 *own = tiles + (blockIdx.x * (blockDim.x / 128) + group) * rounds * 576;
    float d[4] = {0, 0, 0, 0};
    for (u32 round = 0; round <= rounds; ++round) {
        if (round < rounds && warp == (refills[round] & 3))
            for (u32 i = threadIdx.x % 32; i < 576; i += 32) operands[group][i] = own[round * 576 + i];
        asm volatile("fence.proxy.async;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
        if (round == rounds) break;
        FENCE asm volatile("{ .reg .pred adds; setp.eq.b32 adds, 0, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                           "{%0, %1, %2, %3}, %4, %5, adds, 1, 1, 0, 0; }"
                           : D4("+f", 0)
                           : "l"(at), "l"(at + 128));
        WAIT
    }
    for (u32 i = 0; i < 4; ++i) out[4 * (blockIdx.x * blockDim.x + threadIdx.x) + i] = d[i];
}

// One warp of a group leaves out its part of a product.
extern "C" __global__ void without_a_warp(u32 absent, float *out) {
    __shared__ __align__(1024) u32 operands[576];
    u64 at = (u32)__cvta_generic_to_shared(operands) >> 4 | 8ull << 16 | 16ull << 32;
    operands[threadIdx.x] = 0;
    float d[4] = {0, 0, 0, 0};
    if (threadIdx.x / 32 != absent) {
        FENCE asm volatile("{ .reg .pred adds; setp.eq.b32 adds, 0, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                           "{%0, %1, %2, %3}, %4, %5, adds, 1, 1, 0, 0; }"
                           : D4("+f", 0)
                           : "l"(at), "l"(at + 128));
        WAIT
    }
    out[threadIdx.x] = d[0];
}
