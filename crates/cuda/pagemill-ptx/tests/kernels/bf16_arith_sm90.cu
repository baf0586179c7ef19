// arch: compute_90
// bfloat arithmetic.
#include "common.cuh"

ROWS(arith) {
    INPUTS
    OP2("add.rn.bf16", h, h, h)
    OP2("sub.rn.bf16", h, h, h)
    OP2("mul.rn.bf16", h, h, h)
    OP2("add.rn.bf16x2", r, r, r)
    OP2("sub.rn.bf16x2", r, r, r)
    OP2("mul.rn.bf16x2", r, r, r)
}
