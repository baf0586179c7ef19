// arch: compute_75
// Order and magnitude: minimum, maximum, absolute value, negation, sum of absolute differences.
#include "common.cuh"

ROWS(min_max) {
    INPUTS
    OP2("min.u16", h, h, h)
    OP2("min.s16", h, h, h)
    OP2("min.u32", r, r, r)
    OP2("min.s32", r, r, r)
    OP2("min.u64", l, l, l)
    OP2("min.s64", l, l, l)
    OP2("max.u16", h, h, h)
    OP2("max.s16", h, h, h)
    OP2("max.u32", r, r, r)
    OP2("max.s32", r, r, r)
    OP2("max.u64", l, l, l)
    OP2("max.s64", l, l, l)
    OP1("abs.s16", h, h)
    OP1("abs.s32", r, r)
    OP1("abs.s64", l, l)
    OP1("neg.s16", h, h)
    OP1("neg.s32", r, r)
    OP1("neg.s64", l, l)
    OP3("sad.u16", h, h, h, h)
    OP3("sad.s16", h, h, h, h)
    OP3("sad.u32", r, r, r, r)
    OP3("sad.s32", r, r, r, r)
    OP3("sad.u64", l, l, l, l)
    OP3("sad.s64", l, l, l, l)
}
