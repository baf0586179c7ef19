// arch: compute_90
// bfloat: comparison, approximations, atomics.
#include "common.cuh"

#define COMPARE(test) CODE(".reg .pred p; setp." test ".bf16 p, %1, %2; selp.u32 %0, 1, 0, p;", r, h, h, h)
#define PAIR(test)                                                                                                   \
    CODE(".reg .pred p, q; .reg .b32 t, u; setp." test ".bf16x2 p|q, %1, %2; selp.u32 t, 1, 0, p; "                  \
         "selp.u32 u, 2, 0, q; or.b32 %0, t, u;",                                                                    \
         r, r, r, r)

ROWS(compare) {
    INPUTS
    COMPARE("eq")
    COMPARE("lt")
    COMPARE("geu")
    COMPARE("nan")
    PAIR("neu")
    PAIR("gt")
    OP2("set.lt.bf16.bf16", h, h, h)
    OP2("set.ge.u32.bf16", r, h, h)
}

ROWS(approx) {
    INPUTS
    OP1("ex2.approx.ftz.bf16", h, h)
    OP1("ex2.approx.ftz.bf16x2", r, r)
    OP1("tanh.approx.bf16", h, h)
    OP1("tanh.approx.bf16x2", r, r)
}

extern "C" __global__ void sums(u16 *narrow, u32 *pair, u32 *old) {
    u32 was;
    asm volatile("red.global.add.noftz.bf16 [%0], %1;" ::"l"(narrow), "h"((u16)0x3F80) : "memory");
    asm volatile("atom.global.add.noftz.bf16x2 %0, [%1], %2;" : "=r"(was) : "l"(pair + threadIdx.x), "r"(0x40003F80) : "memory");
    old[threadIdx.x] = was;
}
