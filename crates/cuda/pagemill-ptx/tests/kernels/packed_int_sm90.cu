// arch: compute_90
// Two 16-bit integers at once, and minima and maxima that do not go below zero.
#include "common.cuh"

ROWS(packed) {
    INPUTS
    OP2("add.u16x2", r, r, r)
    OP2("add.s16x2", r, r, r)
    OP2("min.u16x2", r, r, r)
    OP2("min.s16x2", r, r, r)
    OP2("max.u16x2", r, r, r)
    OP2("max.s16x2", r, r, r)
    OP2("min.relu.s16x2", r, r, r)
    OP2("max.relu.s16x2", r, r, r)
    OP2("min.relu.s32", r, r, r)
    OP2("max.relu.s32", r, r, r)
}
