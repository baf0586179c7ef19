// arch: compute_75
// Single precision: add, sub, mul, fma with every rounding, flush to zero and saturation.
#include "common.cuh"

#define ROUNDED2(name)                                                                                               \
    OP2(name ".f32", r, r, r)                                                                                        \
    OP2(name ".rn.f32", r, r, r)                                                                                     \
    OP2(name ".rz.f32", r, r, r)                                                                                     \
    OP2(name ".rm.f32", r, r, r)                                                                                     \
    OP2(name ".rp.f32", r, r, r)                                                                                     \
    OP2(name ".ftz.f32", r, r, r)                                                                                    \
    OP2(name ".rz.ftz.f32", r, r, r)                                                                                 \
    OP2(name ".sat.f32", r, r, r)                                                                                    \
    OP2(name ".rp.ftz.sat.f32", r, r, r)

ROWS(add) {
    INPUTS
    ROUNDED2("add")
}

ROWS(sub) {
    INPUTS
    ROUNDED2("sub")
}

ROWS(mul) {
    INPUTS
    ROUNDED2("mul")
}

ROWS(fused) {
    INPUTS
    OP3("fma.rn.f32", r, r, r, r)
    OP3("fma.rz.f32", r, r, r, r)
    OP3("fma.rm.f32", r, r, r, r)
    OP3("fma.rp.f32", r, r, r, r)
    OP3("fma.rn.ftz.f32", r, r, r, r)
    OP3("fma.rz.ftz.f32", r, r, r, r)
    OP3("fma.rn.sat.f32", r, r, r, r)
    OP3("fma.rm.ftz.sat.f32", r, r, r, r)
    OP3("mad.rn.f32", r, r, r, r)
    OP3("mad.rp.ftz.f32", r, r, r, r)
}
