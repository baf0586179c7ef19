// arch: compute_75
// Integer to float: every type with every rounding.
#include "common.cuh"

#define ROUNDINGS(D, to, from, A)                                                                                    \
    OP1("cvt.rn." to "." from, D, A)                                                                                 \
    OP1("cvt.rz." to "." from, D, A)                                                                                 \
    OP1("cvt.rm." to "." from, D, A)                                                                                 \
    OP1("cvt.rp." to "." from, D, A)

#define TYPES(D, to)                                                                                                 \
    ROUNDINGS(D, to, "u8", r)                                                                                        \
    ROUNDINGS(D, to, "s8", r)                                                                                        \
    ROUNDINGS(D, to, "u16", h)                                                                                       \
    ROUNDINGS(D, to, "s16", h)                                                                                       \
    ROUNDINGS(D, to, "u32", r)                                                                                       \
    ROUNDINGS(D, to, "s32", r)                                                                                       \
    ROUNDINGS(D, to, "u64", l)                                                                                       \
    ROUNDINGS(D, to, "s64", l)

ROWS(to_f16) {
    INPUTS
    TYPES(h, "f16")
}

ROWS(to_f32) {
    INPUTS
    TYPES(r, "f32")
}

ROWS(to_f64) {
    INPUTS
    TYPES(l, "f64")
}
