// arch: compute_75
// Integer to integer: every pair of types, and saturation where the destination does not hold every source value.
// Eight-bit values travel in 32-bit registers.
#include "common.cuh"

#define TO(D, text)                                                                                                  \
    OP1(text ".u8", D, r)                                                                                            \
    OP1(text ".s8", D, r)                                                                                            \
    OP1(text ".u16", D, h)                                                                                           \
    OP1(text ".s16", D, h)                                                                                           \
    OP1(text ".u32", D, r)                                                                                           \
    OP1(text ".s32", D, r)                                                                                           \
    OP1(text ".u64", D, l)                                                                                           \
    OP1(text ".s64", D, l)

ROWS(plain) {
    INPUTS
    TO(r, "cvt.u8")
    TO(r, "cvt.s8")
    TO(h, "cvt.u16")
    TO(h, "cvt.s16")
    TO(r, "cvt.u32")
    TO(r, "cvt.s32")
    TO(l, "cvt.u64")
    TO(l, "cvt.s64")
}

ROWS(saturating) {
    INPUTS
    OP1("cvt.sat.u8.s8", r, r)
    OP1("cvt.sat.u8.u16", r, h)
    OP1("cvt.sat.u8.s16", r, h)
    OP1("cvt.sat.u8.s32", r, r)
    OP1("cvt.sat.u8.u64", r, l)
    OP1("cvt.sat.s8.u8", r, r)
    OP1("cvt.sat.s8.s16", r, h)
    OP1("cvt.sat.s8.u32", r, r)
    OP1("cvt.sat.s8.s32", r, r)
    OP1("cvt.sat.s8.s64", r, l)
    OP1("cvt.sat.u16.s16", h, h)
    OP1("cvt.sat.u16.u32", h, r)
    OP1("cvt.sat.u16.s32", h, r)
    OP1("cvt.sat.s16.u16", h, h)
    OP1("cvt.sat.s16.s32", h, r)
    OP1("cvt.sat.s16.u64", h, l)
    OP1("cvt.sat.u32.s32", r, r)
    OP1("cvt.sat.u32.u64", r, l)
    OP1("cvt.sat.u32.s64", r, l)
    OP1("cvt.sat.s32.u32", r, r)
    OP1("cvt.sat.s32.s64", r, l)
    OP1("cvt.sat.s32.u64", r, l)
    OP1("cvt.sat.u64.s64", l, l)
    OP1("cvt.sat.s64.u64", l, l)
    OP1("cvt.sat.u64.s32", l, r)
}

ROWS(packing) {
    INPUTS
    OP2("cvt.pack.sat.s16.s32", r, r, r)
    OP2("cvt.pack.sat.u16.s32", r, r, r)
    OP3("cvt.pack.sat.s8.s32.b32", r, r, r, r)
    OP3("cvt.pack.sat.u8.s32.b32", r, r, r, r)
    OP3("cvt.pack.sat.s4.s32.b32", r, r, r, r)
    OP3("cvt.pack.sat.u4.s32.b32", r, r, r, r)
    OP3("cvt.pack.sat.s2.s32.b32", r, r, r, r)
    OP3("cvt.pack.sat.u2.s32.b32", r, r, r, r)
}
