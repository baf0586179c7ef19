// arch: compute_89
// Pairs of eight-bit floats.
#include "common.cuh"

ROWS(narrow) {
    INPUTS
    OP2("cvt.rn.satfinite.e4m3x2.f32", h, r, r)
    OP2("cvt.rn.satfinite.relu.e4m3x2.f32", h, r, r)
    OP2("cvt.rn.satfinite.e5m2x2.f32", h, r, r)
    OP2("cvt.rn.satfinite.relu.e5m2x2.f32", h, r, r)
}

ROWS(narrow_halves) {
    INPUTS
    a = a & 0xffff | b << 16;
    OP1("cvt.rn.satfinite.e4m3x2.f16x2", h, r)
    OP1("cvt.rn.satfinite.relu.e4m3x2.f16x2", h, r)
    OP1("cvt.rn.satfinite.e5m2x2.f16x2", h, r)
    OP1("cvt.rn.satfinite.relu.e5m2x2.f16x2", h, r)
}

ROWS(widen) {
    INPUTS
    OP1("cvt.rn.f16x2.e4m3x2", r, h)
    OP1("cvt.rn.relu.f16x2.e4m3x2", r, h)
    OP1("cvt.rn.f16x2.e5m2x2", r, h)
    OP1("cvt.rn.relu.f16x2.e5m2x2", r, h)
}
