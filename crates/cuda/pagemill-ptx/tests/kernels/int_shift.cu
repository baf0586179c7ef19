// arch: compute_75
// Shifts clamp at the register width; funnel shifts clamp or wrap. Amounts run from 0 past every width.
#include "common.cuh"

ROWS(shifts) {
    INPUTS
    b = b % 80;
    OP2("shl.b16", h, h, r)
    OP2("shl.b32", r, r, r)
    OP2("shl.b64", l, l, r)
    OP2("shr.u16", h, h, r)
    OP2("shr.s16", h, h, r)
    OP2("shr.b16", h, h, r)
    OP2("shr.u32", r, r, r)
    OP2("shr.s32", r, r, r)
    OP2("shr.b32", r, r, r)
    OP2("shr.u64", l, l, r)
    OP2("shr.s64", l, l, r)
    OP2("shr.b64", l, l, r)
}

ROWS(funnels) {
    INPUTS
    c = c % 80;
    OP3("shf.l.wrap.b32", r, r, r, r)
    OP3("shf.l.clamp.b32", r, r, r, r)
    OP3("shf.r.wrap.b32", r, r, r, r)
    OP3("shf.r.clamp.b32", r, r, r, r)
}
