// arch: compute_75
// Calls written by hand: register parameters, several results, discarded results, no parameters at all.
#include "common.cuh"

asm(".func (.reg .b32 quotient, .reg .b32 rest) divide(.reg .b32 a, .reg .b32 b)\n"
    "{ div.u32 quotient, a, b; rem.u32 rest, a, b; ret; }\n"
    ".func (.reg .f32 y) square(.reg .f32 x) { mul.f32 y, x, x; ret.uni; }\n"
    ".func nothing { ret; }\n"
    ".func (.param .b32 sum) add3(.param .b32 a, .param .align 4 .b8 rest[8])\n"
    "{ .reg .b32 t, u; ld.param.b32 t, [a]; ld.param.b32 u, [rest]; add.u32 t, t, u; ld.param.b32 u, [rest+4];\n"
    "  add.u32 t, t, u; st.param.b32 [sum], t; ret; }\n");

extern "C" __global__ void calls(const u32 *in, u32 *out) {
    u32 t = threadIdx.x, x = in[t], q, r, s;
    float y;
    asm volatile("{ call (%0, %1), divide, (%2, 7); }" : "=r"(q), "=r"(r) : "r"(x));
    asm volatile("{ call (%0), square, (%1); call nothing; }" : "=f"(y) : "f"((float)(x % 100)));
    asm volatile("{ .param .b32 p; .param .align 4 .b8 s[8]; .param .b32 r; st.param.b32 [p], %1;\n"
                 "  st.param.v2.b32 [s], {%2, %3}; call.uni (r), add3, (p, s); ld.param.b32 %0, [r]; }"
                 : "=r"(s)
                 : "r"(x), "r"(t), "r"(1000));
    out[t] = q * 10 + r;
    out[32 + t] = __float_as_uint(y);
    out[64 + t] = s;
}
