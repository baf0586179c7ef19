// arch: compute_75
// Float comparison: ordered, unordered, tests for numbers, flush to zero, combined and as a number.
#include "common.cuh"

#define COMPARE(test, D)                                                                                             \
    CODE(".reg .pred p; setp." test " p, %1, %2; selp.u32 %0, 1, 0, p;", r, D, D, D)

#define ALL(type, D)                                                                                                 \
    COMPARE("eq." type, D)                                                                                           \
    COMPARE("ne." type, D)                                                                                           \
    COMPARE("lt." type, D)                                                                                           \
    COMPARE("le." type, D)                                                                                           \
    COMPARE("gt." type, D)                                                                                           \
    COMPARE("ge." type, D)                                                                                           \
    COMPARE("equ." type, D)                                                                                          \
    COMPARE("neu." type, D)                                                                                          \
    COMPARE("ltu." type, D)                                                                                          \
    COMPARE("leu." type, D)                                                                                          \
    COMPARE("gtu." type, D)                                                                                          \
    COMPARE("geu." type, D)                                                                                          \
    COMPARE("num." type, D)                                                                                          \
    COMPARE("nan." type, D)

ROWS(compare32) {
    INPUTS
    ALL("f32", r)
    ALL("ftz.f32", r)
}

ROWS(compare64) {
    INPUTS
    ALL("f64", l)
}

ROWS(compare16) {
    INPUTS
    ALL("f16", h)
    ALL("ftz.f16", h)
}

#define PAIR(test)                                                                                                   \
    CODE(".reg .pred p, q; .reg .b32 t, u; setp." test ".f16x2 p|q, %1, %2; selp.u32 t, 1, 0, p; "                   \
         "selp.u32 u, 2, 0, q; or.b32 %0, t, u;",                                                                    \
         r, r, r, r)

ROWS(compare16x2) {
    INPUTS
    PAIR("eq")
    PAIR("lt")
    PAIR("geu")
    PAIR("nan")
}

ROWS(numbers) {
    INPUTS
    OP2("set.lt.u32.f32", r, r, r)
    OP2("set.geu.f32.f32", r, r, r)
    OP2("set.eq.ftz.s32.f32", r, r, r)
    OP2("set.num.u32.f64", r, l, l)
    OP2("set.gt.f32.f64", r, l, l)
    OP2("set.lt.f16.f16", h, h, h)
    OP2("set.lt.u32.f16", r, h, h)
    OP2("set.neu.f16x2.f16x2", r, r, r)
    CODE(".reg .pred q; .reg .b32 t; and.b32 t, %3, 1; setp.ne.u32 q, t, 0; set.ltu.or.u32.f32 %0, %1, %2, q;", r, r, r,
         r)
    CODE(".reg .pred p, q, s; .reg .b32 t, u; and.b32 t, %3, 1; setp.ne.u32 q, t, 0; "
         "setp.leu.xor.f32 p|s, %1, %2, q; selp.u32 t, 1, 0, p; selp.u32 u, 2, 0, s; or.b32 %0, t, u;",
         r, r, r, r)
}
