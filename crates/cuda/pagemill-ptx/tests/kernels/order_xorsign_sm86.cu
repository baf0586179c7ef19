// arch: compute_86
// Minimum and maximum of magnitudes, with the product of the signs.
#include "common.cuh"

ROWS(order) {
    INPUTS
    OP2("min.xorsign.abs.f32", r, r, r)
    OP2("max.xorsign.abs.f32", r, r, r)
    OP2("max.ftz.xorsign.abs.f32", r, r, r)
    OP2("max.NaN.xorsign.abs.f32", r, r, r)
    OP2("min.xorsign.abs.f16", h, h, h)
    OP2("max.xorsign.abs.f16x2", r, r, r)
    OP2("max.xorsign.abs.bf16", h, h, h)
}
