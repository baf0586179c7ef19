// arch: compute_80
// Narrowing to bfloat and to pairs of narrow floats, with and without clamping below zero.
#include "common.cuh"

ROWS(narrow) {
    INPUTS
    OP1("cvt.rn.bf16.f32", h, r)
    OP1("cvt.rz.bf16.f32", h, r)
    OP1("cvt.rn.relu.bf16.f32", h, r)
    OP2("cvt.rn.bf16x2.f32", r, r, r)
    OP2("cvt.rz.bf16x2.f32", r, r, r)
    OP2("cvt.rn.f16x2.f32", r, r, r)
    OP2("cvt.rz.f16x2.f32", r, r, r)
    OP2("cvt.rn.relu.f16x2.f32", r, r, r)
}
