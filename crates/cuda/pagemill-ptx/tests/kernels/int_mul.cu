// arch: compute_75
// Integer multiplication: low half, high half, full product, and with 24 bits.
#include "common.cuh"

ROWS(mul) {
    INPUTS
    OP2("mul.lo.u16", h, h, h)
    OP2("mul.lo.s16", h, h, h)
    OP2("mul.lo.u32", r, r, r)
    OP2("mul.lo.s32", r, r, r)
    OP2("mul.lo.u64", l, l, l)
    OP2("mul.lo.s64", l, l, l)
    OP2("mul.hi.u16", h, h, h)
    OP2("mul.hi.s16", h, h, h)
    OP2("mul.hi.u32", r, r, r)
    OP2("mul.hi.s32", r, r, r)
    OP2("mul.hi.u64", l, l, l)
    OP2("mul.hi.s64", l, l, l)
    OP2("mul.wide.u16", r, h, h)
    OP2("mul.wide.s16", r, h, h)
    OP2("mul.wide.u32", l, r, r)
    OP2("mul.wide.s32", l, r, r)
    OP2("mul24.lo.u32", r, r, r)
    OP2("mul24.lo.s32", r, r, r)
    OP2("mul24.hi.u32", r, r, r)
    OP2("mul24.hi.s32", r, r, r)
}
