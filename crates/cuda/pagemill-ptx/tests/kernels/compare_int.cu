// arch: compute_75
// Integer comparison: every operator, combined with a predicate, with both destinations, and as a number.
#include "common.cuh"

#define COMPARE(test, D)                                                                                             \
    CODE(".reg .pred p; setp." test " p, %1, %2; selp.u32 %0, 1, 0, p;", r, D, D, D)

#define SIGNED(type, D)                                                                                              \
    COMPARE("eq." type, D)                                                                                           \
    COMPARE("ne." type, D)                                                                                           \
    COMPARE("lt." type, D)                                                                                           \
    COMPARE("le." type, D)                                                                                           \
    COMPARE("gt." type, D)                                                                                           \
    COMPARE("ge." type, D)

#define UNSIGNED(type, D)                                                                                            \
    SIGNED(type, D)                                                                                                  \
    COMPARE("lo." type, D)                                                                                           \
    COMPARE("ls." type, D)                                                                                           \
    COMPARE("hi." type, D)                                                                                           \
    COMPARE("hs." type, D)

ROWS(compare) {
    INPUTS
    SIGNED("s16", h)
    SIGNED("s32", r)
    SIGNED("s64", l)
    UNSIGNED("u16", h)
    UNSIGNED("u32", r)
    UNSIGNED("u64", l)
    COMPARE("eq.b16", h)
    COMPARE("ne.b16", h)
    COMPARE("eq.b32", r)
    COMPARE("ne.b32", r)
    COMPARE("eq.b64", l)
    COMPARE("ne.b64", l)
}

// q is bit 0 of c; the result holds the first destination in bit 0 and the second in bit 1.
#define COMBINE(op)                                                                                                  \
    CODE(".reg .pred p, q, s; .reg .b32 t, u; and.b32 t, %3, 1; setp.ne.u32 q, t, 0; "                               \
         "setp.lt." op ".s32 p|s, %1, %2, q; selp.u32 t, 1, 0, p; selp.u32 u, 2, 0, s; or.b32 %0, t, u;",            \
         r, r, r, r)
#define COMBINE_NOT(op)                                                                                              \
    CODE(".reg .pred p, q, s; .reg .b32 t, u; and.b32 t, %3, 1; setp.ne.u32 q, t, 0; "                               \
         "setp.ge." op ".u32 p|s, %1, %2, !q; selp.u32 t, 1, 0, p; selp.u32 u, 2, 0, s; or.b32 %0, t, u;",           \
         r, r, r, r)

ROWS(combine) {
    INPUTS
    COMBINE("and")
    COMBINE("or")
    COMBINE("xor")
    COMBINE_NOT("and")
    COMBINE_NOT("or")
    COMBINE_NOT("xor")
    CODE(".reg .pred p, s; .reg .b32 t, u; setp.gt.s32 p|s, %1, %2; selp.u32 t, 1, 0, p; selp.u32 u, 2, 0, s; "
         "or.b32 %0, t, u;",
         r, r, r, r)
}

ROWS(numbers) {
    INPUTS
    OP2("set.lt.u32.s32", r, r, r)
    OP2("set.hs.s32.u32", r, r, r)
    OP2("set.eq.f32.u32", r, r, r)
    OP2("set.ne.u32.u16", r, h, h)
    OP2("set.le.u32.s64", r, l, l)
    OP2("set.gt.f32.u64", r, l, l)
    CODE(".reg .pred q; .reg .b32 t; and.b32 t, %3, 1; setp.ne.u32 q, t, 0; set.lt.and.u32.s32 %0, %1, %2, q;", r, r, r,
         r)
    CODE(".reg .pred q; .reg .b32 t; and.b32 t, %3, 1; setp.ne.u32 q, t, 0; set.lt.xor.f32.s32 %0, %1, %2, !q;", r, r,
         r, r)
}

ROWS(choose) {
    INPUTS
    CODE(".reg .pred p; setp.lt.s64 p, %1, %2; selp.b64 %0, %1, %3, p;", l, l, l, l)
    CODE(".reg .pred p; setp.lt.s32 p, %1, %2; selp.b32 %0, %1, %3, p;", r, r, r, r)
    CODE(".reg .pred p; setp.lt.s16 p, %1, %2; selp.b16 %0, %1, %3, p;", h, h, h, h)
    CODE(".reg .pred p; setp.lt.s32 p, %1, %2; selp.s32 %0, %1, 77, p;", r, r, r, r)
    CODE(".reg .pred p; setp.lt.u64 p, %1, %2; selp.f64 %0, %1, 0d3FF0000000000000, p;", l, l, l, l)
    CODE(".reg .pred p; setp.lt.u32 p, %1, %2; selp.f32 %0, 0f3F800000, %3, p;", r, r, r, r)
    OP3("slct.b32.s32", r, r, r, r)
    OP3("slct.u64.s32", l, l, l, r)
    OP3("slct.s16.s32", h, h, h, r)
    OP3("slct.f32.f32", r, r, r, r)
    OP3("slct.ftz.s32.f32", r, r, r, r)
    OP3("slct.f64.f32", l, l, l, r)
}
