// arch: compute_75
// Two half precision numbers at once.
#include "common.cuh"

#define ARITHMETIC(name)                                                                                             \
    OP2(name ".f16x2", r, r, r)                                                                                      \
    OP2(name ".rn.f16x2", r, r, r)                                                                                   \
    OP2(name ".ftz.f16x2", r, r, r)                                                                                  \
    OP2(name ".sat.f16x2", r, r, r)

ROWS(arith) {
    INPUTS
    ARITHMETIC("add")
    ARITHMETIC("sub")
    ARITHMETIC("mul")
    OP3("fma.rn.f16x2", r, r, r, r)
    OP3("fma.rn.ftz.f16x2", r, r, r, r)
    OP3("fma.rn.sat.f16x2", r, r, r, r)
    OP1("neg.f16x2", r, r)
    OP1("neg.ftz.f16x2", r, r)
    OP1("abs.f16x2", r, r)
}

ROWS(approx) {
    INPUTS
    OP1("ex2.approx.f16x2", r, r)
    OP1("tanh.approx.f16x2", r, r)
}
