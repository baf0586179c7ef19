// arch: compute_75
// Single precision approximations.
#include "common.cuh"

ROWS(quotients) {
    INPUTS
    OP2("div.approx.f32", r, r, r)
    OP2("div.approx.ftz.f32", r, r, r)
    OP2("div.full.f32", r, r, r)
    OP2("div.full.ftz.f32", r, r, r)
}

ROWS(roots) {
    INPUTS
    OP1("rcp.approx.f32", r, r)
    OP1("rcp.approx.ftz.f32", r, r)
    OP1("sqrt.approx.f32", r, r)
    OP1("sqrt.approx.ftz.f32", r, r)
    OP1("rsqrt.approx.f32", r, r)
    OP1("rsqrt.approx.ftz.f32", r, r)
}

ROWS(waves) {
    INPUTS
    OP1("sin.approx.f32", r, r)
    OP1("sin.approx.ftz.f32", r, r)
    OP1("cos.approx.f32", r, r)
    OP1("cos.approx.ftz.f32", r, r)
    OP1("tanh.approx.f32", r, r)
}

ROWS(powers) {
    INPUTS
    OP1("ex2.approx.f32", r, r)
    OP1("ex2.approx.ftz.f32", r, r)
}

ROWS(logarithms) {
    INPUTS
    OP1("lg2.approx.f32", r, r)
    OP1("lg2.approx.ftz.f32", r, r)
}
