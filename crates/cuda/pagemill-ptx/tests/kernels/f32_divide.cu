// arch: compute_75
// Single precision: IEEE division, reciprocal and square root with every rounding.
#include "common.cuh"

ROWS(divide) {
    INPUTS
    OP2("div.rn.f32", r, r, r)
    OP2("div.rz.f32", r, r, r)
    OP2("div.rm.f32", r, r, r)
    OP2("div.rp.f32", r, r, r)
    OP2("div.rn.ftz.f32", r, r, r)
    OP2("div.rp.ftz.f32", r, r, r)
}

ROWS(unary) {
    INPUTS
    OP1("rcp.rn.f32", r, r)
    OP1("rcp.rz.f32", r, r)
    OP1("rcp.rm.f32", r, r)
    OP1("rcp.rp.f32", r, r)
    OP1("rcp.rn.ftz.f32", r, r)
    OP1("sqrt.rn.f32", r, r)
    OP1("sqrt.rz.f32", r, r)
    OP1("sqrt.rm.f32", r, r)
    OP1("sqrt.rp.f32", r, r)
    OP1("sqrt.rn.ftz.f32", r, r)
}
