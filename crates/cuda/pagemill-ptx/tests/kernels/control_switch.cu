// arch: compute_75
// Jumps through a table.
#include "common.cuh"

extern "C" __global__ void table(const u32 *in, u32 *out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 x = in[i], sum;
    asm volatile("{ .reg .b32 k; and.b32 k, %1, 3; targets: .branchtargets ZERO, ONE, TWO, ONE;\n"
                 "brx.idx k, targets;\n"
                 "ZERO: mov.u32 %0, 100; bra.uni LEAVE;\n"
                 "ONE: add.u32 %0, %1, 1;\n"
                 "TWO: mul.lo.u32 %0, %1, 5;\n"
                 "LEAVE: add.u32 %0, %0, k; }"
                 : "=r"(sum)
                 : "r"(x));
    out[i] = sum;
}

extern "C" __global__ void uniform(u32 *out, u32 choice) {
    u32 value;
    asm volatile("{ targets: .branchtargets A, B, C; brx.idx.uni %1, targets;\n"
                 "A: mov.u32 %0, 10; bra LEAVE; B: mov.u32 %0, 20; bra LEAVE; C: mov.u32 %0, 30; LEAVE: }"
                 : "=r"(value)
                 : "r"(choice));
    out[threadIdx.x] = value;
}

extern "C" __global__ void cases(const u32 *in, u32 *out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 x = in[i], y;
    switch (x % 11) {
    case 0: y = x + 5; break;
    case 1: y = x * x; break;
    case 2: y = ~x;
    case 3: y = x >> 3; break;
    case 4: y = x / 9; break;
    case 5: y = __popc(x); break;
    case 6: y = __clz(x); break;
    case 8: y = x ^ (x << 5); break;
    case 9: return;
    default: y = 12345;
    }
    out[i] = y;
}
