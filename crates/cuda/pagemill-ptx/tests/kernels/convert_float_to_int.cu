// arch: compute_75
// Float to integer: every rounding to every type; values out of range clamp.
#include "common.cuh"

#define ROUNDINGS(D, to, from, A)                                                                                    \
    OP1("cvt.rni." to "." from, D, A)                                                                                \
    OP1("cvt.rzi." to "." from, D, A)                                                                                \
    OP1("cvt.rmi." to "." from, D, A)                                                                                \
    OP1("cvt.rpi." to "." from, D, A)

#define TYPES(from, A)                                                                                               \
    ROUNDINGS(r, "u8", from, A)                                                                                      \
    ROUNDINGS(r, "s8", from, A)                                                                                      \
    ROUNDINGS(h, "u16", from, A)                                                                                     \
    ROUNDINGS(h, "s16", from, A)                                                                                     \
    ROUNDINGS(r, "u32", from, A)                                                                                     \
    ROUNDINGS(r, "s32", from, A)                                                                                     \
    ROUNDINGS(l, "u64", from, A)                                                                                     \
    ROUNDINGS(l, "s64", from, A)

ROWS(from_f16) {
    INPUTS
    TYPES("f16", h)
}

ROWS(from_f32) {
    INPUTS
    TYPES("f32", r)
}

ROWS(from_f64) {
    INPUTS
    TYPES("f64", l)
}

ROWS(modified) {
    INPUTS
    OP1("cvt.rpi.ftz.s32.f32", r, r)
    OP1("cvt.rpi.ftz.u64.f32", l, r)
    OP1("cvt.rni.sat.s32.f32", r, r)
    OP1("cvt.rmi.ftz.sat.s16.f32", h, r)
}
