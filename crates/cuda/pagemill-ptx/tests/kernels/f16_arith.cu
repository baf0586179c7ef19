// arch: compute_75
// Half precision: arithmetic, sign, approximations.
#include "common.cuh"

#define ARITHMETIC(name)                                                                                             \
    OP2(name ".f16", h, h, h)                                                                                        \
    OP2(name ".rn.f16", h, h, h)                                                                                     \
    OP2(name ".ftz.f16", h, h, h)                                                                                    \
    OP2(name ".sat.f16", h, h, h)                                                                                    \
    OP2(name ".ftz.sat.f16", h, h, h)

ROWS(arith) {
    INPUTS
    ARITHMETIC("add")
    ARITHMETIC("sub")
    ARITHMETIC("mul")
    OP3("fma.rn.f16", h, h, h, h)
    OP3("fma.rn.ftz.f16", h, h, h, h)
    OP3("fma.rn.sat.f16", h, h, h, h)
    OP3("fma.rn.ftz.sat.f16", h, h, h, h)
    OP1("neg.f16", h, h)
    OP1("neg.ftz.f16", h, h)
    OP1("abs.f16", h, h)
    OP1("abs.ftz.f16", h, h)
}

ROWS(approx) {
    INPUTS
    OP1("ex2.approx.f16", h, h)
    OP1("tanh.approx.f16", h, h)
}
