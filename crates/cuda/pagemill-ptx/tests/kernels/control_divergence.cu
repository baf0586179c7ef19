// arch: compute_75
// Divergent control flow: nested branches, loops of different length, breaks, early exits, and short circuits.
#include "common.cuh"

extern "C" __global__ void nested(const u32 *in, u32 *out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 x = in[i], hash = 1;
    if (x & 1) {
        hash = hash * 3 + 1;
        if (x & 2) {
            hash = hash * 5 + x;
            if (x & 4)
                hash ^= 0x55;
            else
                hash += 100;
        } else if (x & 8) {
            hash -= 7;
        }
    } else {
        for (u32 k = 0; k < (x & 15); k++) {
            if (k == 9) break;
            if (k % 3 == 1) continue;
            hash = hash * 7 + k;
        }
    }
    out[i] = hash;
}

extern "C" __global__ void collatz(const u32 *in, u32 *steps, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 x = in[i] | 1;
    u32 count = 0;
    while (x != 1) {
        x = x & 1 ? 3 * x + 1 : x >> 1;
        count++;
    }
    steps[i] = count;
}

extern "C" __global__ void early(const u32 *in, u32 *out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 x = in[i];
    out[i] = 1;
    if (x % 5 == 0) return;
    for (u32 k = 2; k * k <= x % 1000; k++) {
        if (x % 1000 % k == 0) {
            out[i] = k;
            return;
        }
    }
    out[i] = 2000 + (threadIdx.x & 1 && x > 10 || x % 7 == 3 && x != 24);
}

// A loop inside a loop, both of lengths that differ from lane to lane, leaving both from the inner one.
extern "C" __global__ void loops(const u32 *in, u32 *out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 x = in[i], sum = 0;
    for (u32 k = 0; k < x % 7; k++) {
        for (u32 j = 0; j < (x >> 3) % 5 + k; j++) {
            sum += k * 10 + j;
            if (sum > 150) goto done;
        }
        sum ^= k;
    }
    sum += 1000;
done:
    out[i] = sum;
}

// Two entries into one loop: control flow that no nesting of loops describes.
extern "C" __global__ void irreducible(const u32 *in, u32 *out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 x = in[i], sum;
    asm volatile("{ .reg .pred p, q; .reg .b32 k; mov.u32 %0, 0; and.b32 k, %1, 31; and.b32 %0, %1, 1;\n"
                 "setp.eq.u32 p, %0, 0; @p bra MIDDLE;\n"
                 "TOP: add.u32 %0, %0, 3;\n"
                 "MIDDLE: xor.b32 %0, %0, k; setp.eq.u32 q, k, 0; @q bra LEAVE; sub.u32 k, k, 1; and.b32 %0, %0, 0xFFF;\n"
                 "setp.gt.u32 p, k, 3; @p bra TOP; @!p bra MIDDLE;\n"
                 "LEAVE: }"
                 : "=r"(sum)
                 : "r"(x));
    out[i] = sum;
}
