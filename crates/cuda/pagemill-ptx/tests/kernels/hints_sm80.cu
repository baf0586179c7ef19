// arch: compute_80
// Hints without an effect on results, a rounding to TensorFloat precision, and values of 128 bits.
#include "common.cuh"

extern "C" __global__ void hints(u32 *data, u32 *out) {
    u32 t = threadIdx.x;
    u32 value = data[t];
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(data) : "memory");
    asm volatile("pmevent 7;");
    asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(data + t));
    asm volatile("ld.global.L1::evict_first.L2::256B.u32 %0, [%1];" : "+r"(value) : "l"(data + t));
    out[t] = value * 2;
    // What is discarded is never read again.
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(data) : "memory");
}

ROWS(rounding) {
    INPUTS
    OP1("cvt.rna.tf32.f32", r, r)
}

extern "C" __global__ void moves(const u64 *in, u64 *out) {
    asm volatile("{ .reg .b128 q; .reg .b64 x, y; ld.global.v2.b64 {x, y}, [%0]; mov.b128 q, {y, x};\n"
                 "  mov.b128 {x, y}, q; st.global.v2.b64 [%1], {x, y}; }" ::"l"(in + 2 * threadIdx.x),
                 "l"(out + 2 * threadIdx.x)
                 : "memory");
}
