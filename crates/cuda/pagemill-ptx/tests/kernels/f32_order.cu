// arch: compute_75
// Single precision: minimum, maximum, magnitude, sign and class of a number.
#include "common.cuh"

#define TEST(property) CODE(".reg .pred p; testp." property ".f32 p, %1; selp.u32 %0, 1, 0, p;", r, r, r, r)

ROWS(order) {
    INPUTS
    OP2("min.f32", r, r, r)
    OP2("max.f32", r, r, r)
    OP2("min.ftz.f32", r, r, r)
    OP2("max.ftz.f32", r, r, r)
    OP1("abs.f32", r, r)
    OP1("abs.ftz.f32", r, r)
    OP1("neg.f32", r, r)
    OP1("neg.ftz.f32", r, r)
    OP2("copysign.f32", r, r, r)
}

ROWS(classes) {
    INPUTS
    TEST("finite")
    TEST("infinite")
    TEST("number")
    TEST("notanumber")
    TEST("normal")
    TEST("subnormal")
}
