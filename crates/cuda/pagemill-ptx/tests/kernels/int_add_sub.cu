// arch: compute_75
// Integer addition and subtraction of every width, and with saturation.
#include "common.cuh"

ROWS(add_sub) {
    INPUTS
    OP2("add.u16", h, h, h)
    OP2("add.s16", h, h, h)
    OP2("add.u32", r, r, r)
    OP2("add.s32", r, r, r)
    OP2("add.sat.s32", r, r, r)
    OP2("add.u64", l, l, l)
    OP2("add.s64", l, l, l)
    OP2("sub.u16", h, h, h)
    OP2("sub.s16", h, h, h)
    OP2("sub.u32", r, r, r)
    OP2("sub.s32", r, r, r)
    OP2("sub.sat.s32", r, r, r)
    OP2("sub.u64", l, l, l)
    OP2("sub.s64", l, l, l)
}
