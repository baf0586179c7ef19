// arch: compute_75
// Double precision: minimum, maximum, magnitude, sign, class, and the two approximations.
#include "common.cuh"

#define TEST(property) CODE(".reg .pred p; testp." property ".f64 p, %1; selp.u32 %0, 1, 0, p;", r, l, l, l)

ROWS(order) {
    INPUTS
    OP2("min.f64", l, l, l)
    OP2("max.f64", l, l, l)
    OP1("abs.f64", l, l)
    OP1("neg.f64", l, l)
    OP2("copysign.f64", l, l, l)
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

ROWS(approx) {
    INPUTS
    OP1("rcp.approx.ftz.f64", l, l)
    OP1("rsqrt.approx.f64", l, l)
    OP1("rsqrt.approx.ftz.f64", l, l)
}
