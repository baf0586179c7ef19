// arch: compute_80
// Minimum and maximum of half and bfloat precision, and the NaN-propagating ones of single precision.
#include "common.cuh"

ROWS(order16) {
    INPUTS
    OP2("min.f16", h, h, h)
    OP2("max.f16", h, h, h)
    OP2("min.ftz.f16", h, h, h)
    OP2("max.NaN.f16", h, h, h)
    OP2("min.NaN.f16", h, h, h)
    OP2("min.bf16", h, h, h)
    OP2("max.bf16", h, h, h)
    OP2("max.NaN.bf16", h, h, h)
    OP1("neg.bf16", h, h)
    OP1("abs.bf16", h, h)
    OP3("fma.rn.relu.f16", h, h, h, h)
    OP3("fma.rn.bf16", h, h, h, h)
    OP3("fma.rn.relu.bf16", h, h, h, h)
}

ROWS(order32) {
    INPUTS
    OP2("min.f16x2", r, r, r)
    OP2("max.f16x2", r, r, r)
    OP2("max.NaN.f16x2", r, r, r)
    OP2("min.bf16x2", r, r, r)
    OP2("max.bf16x2", r, r, r)
    OP1("neg.bf16x2", r, r)
    OP1("abs.bf16x2", r, r)
    OP3("fma.rn.relu.f16x2", r, r, r, r)
    OP3("fma.rn.bf16x2", r, r, r, r)
    OP2("min.NaN.f32", r, r, r)
    OP2("max.NaN.f32", r, r, r)
    OP2("max.ftz.NaN.f32", r, r, r)
}
