// arch: compute_75
// Integer multiply-add: low half, high half, full product, saturating, and with 24 bits.
#include "common.cuh"

ROWS(mad) {
    INPUTS
    OP3("mad.lo.u16", h, h, h, h)
    OP3("mad.lo.s16", h, h, h, h)
    OP3("mad.lo.u32", r, r, r, r)
    OP3("mad.lo.s32", r, r, r, r)
    OP3("mad.lo.u64", l, l, l, l)
    OP3("mad.lo.s64", l, l, l, l)
    OP3("mad.hi.u16", h, h, h, h)
    OP3("mad.hi.s16", h, h, h, h)
    OP3("mad.hi.u32", r, r, r, r)
    OP3("mad.hi.s32", r, r, r, r)
    OP3("mad.hi.sat.s32", r, r, r, r)
    OP3("mad.hi.u64", l, l, l, l)
    OP3("mad.hi.s64", l, l, l, l)
    OP3("mad.wide.u16", r, h, h, r)
    OP3("mad.wide.s16", r, h, h, r)
    OP3("mad.wide.u32", l, r, r, l)
    OP3("mad.wide.s32", l, r, r, l)
    OP3("mad24.lo.u32", r, r, r, r)
    OP3("mad24.lo.s32", r, r, r, r)
    OP3("mad24.hi.u32", r, r, r, r)
    OP3("mad24.hi.s32", r, r, r, r)
    OP3("mad24.hi.sat.s32", r, r, r, r)
}
