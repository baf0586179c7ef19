// arch: compute_75
// Float to float: widening, narrowing with every rounding, rounding to an integral value, flush and saturation.
#include "common.cuh"

ROWS(widen) {
    INPUTS
    OP1("cvt.f32.f16", r, h)
    OP1("cvt.f64.f16", l, h)
    OP1("cvt.f64.f32", l, r)
    OP1("cvt.ftz.f64.f32", l, r)
    OP1("cvt.sat.f64.f32", l, r)
    OP1("cvt.sat.f32.f16", r, h)
}

ROWS(from_f32) {
    INPUTS
    OP1("cvt.rn.f16.f32", h, r)
    OP1("cvt.rz.f16.f32", h, r)
    OP1("cvt.rm.f16.f32", h, r)
    OP1("cvt.rp.f16.f32", h, r)
    OP1("cvt.rn.ftz.f16.f32", h, r)
    OP1("cvt.rn.sat.f16.f32", h, r)
    OP1("cvt.rni.f32.f32", r, r)
    OP1("cvt.rzi.f32.f32", r, r)
    OP1("cvt.rmi.f32.f32", r, r)
    OP1("cvt.rpi.f32.f32", r, r)
    OP1("cvt.rpi.ftz.f32.f32", r, r)
    OP1("cvt.sat.f32.f32", r, r)
    OP1("cvt.ftz.f32.f32", r, r)
    OP1("cvt.ftz.sat.f32.f32", r, r)
}

ROWS(from_f64) {
    INPUTS
    OP1("cvt.rn.f16.f64", h, l)
    OP1("cvt.rz.f16.f64", h, l)
    OP1("cvt.rm.f16.f64", h, l)
    OP1("cvt.rp.f16.f64", h, l)
    OP1("cvt.rn.f32.f64", r, l)
    OP1("cvt.rz.f32.f64", r, l)
    OP1("cvt.rm.f32.f64", r, l)
    OP1("cvt.rp.f32.f64", r, l)
    OP1("cvt.rn.ftz.f32.f64", r, l)
    OP1("cvt.rn.sat.f32.f64", r, l)
    OP1("cvt.rni.f64.f64", l, l)
    OP1("cvt.rzi.f64.f64", l, l)
    OP1("cvt.rmi.f64.f64", l, l)
    OP1("cvt.rpi.f64.f64", l, l)
    OP1("cvt.sat.f64.f64", l, l)
}

ROWS(from_f16) {
    INPUTS
    OP1("cvt.rni.f16.f16", h, h)
    OP1("cvt.rzi.f16.f16", h, h)
    OP1("cvt.rmi.f16.f16", h, h)
    OP1("cvt.rpi.f16.f16", h, h)
}
