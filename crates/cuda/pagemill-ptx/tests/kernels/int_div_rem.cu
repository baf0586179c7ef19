// arch: compute_75
// Integer division and remainder; the inputs hold no zero divisor.
#include "common.cuh"

ROWS(div_rem) {
    INPUTS
    OP2("div.u16", h, h, h)
    OP2("div.s16", h, h, h)
    OP2("div.u32", r, r, r)
    OP2("div.s32", r, r, r)
    OP2("div.u64", l, l, l)
    OP2("div.s64", l, l, l)
    OP2("rem.u16", h, h, h)
    OP2("rem.s16", h, h, h)
    OP2("rem.u32", r, r, r)
    OP2("rem.s32", r, r, r)
    OP2("rem.u64", l, l, l)
    OP2("rem.s64", l, l, l)
}
