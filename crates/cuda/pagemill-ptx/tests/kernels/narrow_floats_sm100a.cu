// arch: compute_100a
// Pairs of floats of six and four bits, powers of two, and arithmetic on two singles at once.
#include "common.cuh"

// Of four bits, a pair fills a byte.
#define FOUR(text, B) CODE(".reg .b8 pair; " text "; mov.b16 %0, {pair, 0};", h, r, B, r)

ROWS(narrow) {
    INPUTS
    OP2("cvt.rn.satfinite.e2m3x2.f32", h, r, r)
    OP2("cvt.rn.satfinite.relu.e2m3x2.f32", h, r, r)
    OP2("cvt.rn.satfinite.e3m2x2.f32", h, r, r)
    OP2("cvt.rn.satfinite.relu.e3m2x2.f32", h, r, r)
    FOUR("cvt.rn.satfinite.e2m1x2.f32 pair, %1, %2", r)
    FOUR("cvt.rn.satfinite.relu.e2m1x2.f32 pair, %1, %2", r)
}

ROWS(widen) {
    INPUTS
    a &= 0x3f3f;
    OP1("cvt.rn.f16x2.e2m3x2", r, h)
    OP1("cvt.rn.relu.f16x2.e2m3x2", r, h)
    OP1("cvt.rn.f16x2.e3m2x2", r, h)
    OP1("cvt.rn.relu.f16x2.e3m2x2", r, h)
    CODE(".reg .b8 pair, rest; mov.b16 {pair, rest}, %1; cvt.rn.f16x2.e2m1x2 %0, pair;", r, h, r, r)
    CODE(".reg .b8 pair, rest; mov.b16 {pair, rest}, %1; cvt.rn.relu.f16x2.e2m1x2 %0, pair;", r, h, r, r)
}

ROWS(powers) {
    INPUTS
    OP2("cvt.rz.ue8m0x2.f32", h, r, r)
    OP2("cvt.rz.satfinite.ue8m0x2.f32", h, r, r)
    OP2("cvt.rp.ue8m0x2.f32", h, r, r)
    OP2("cvt.rp.satfinite.ue8m0x2.f32", h, r, r)
    OP1("cvt.rz.ue8m0x2.bf16x2", h, r)
    OP1("cvt.rp.satfinite.ue8m0x2.bf16x2", h, r)
}

ROWS(widen_powers) {
    INPUTS
    OP1("cvt.rn.bf16x2.ue8m0x2", r, h)
}

ROWS(singles) {
    INPUTS
    a = (a & 0xffffffff) | b << 32;
    b = (b & 0xffffffff) | c << 32;
    c = (c & 0xffffffff) | a << 32;
    OP2("add.rn.f32x2", l, l, l)
    OP2("add.rz.ftz.f32x2", l, l, l)
    OP2("sub.rm.f32x2", l, l, l)
    OP2("mul.rn.ftz.f32x2", l, l, l)
    OP2("mul.rp.f32x2", l, l, l)
    OP3("fma.rn.f32x2", l, l, l, l)
    OP3("fma.rz.ftz.f32x2", l, l, l, l)
}
