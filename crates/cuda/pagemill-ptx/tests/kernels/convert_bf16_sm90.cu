// arch: compute_90
// Widening from bfloat.
#include "common.cuh"

ROWS(widen) {
    INPUTS
    OP1("cvt.f32.bf16", r, h)
}
