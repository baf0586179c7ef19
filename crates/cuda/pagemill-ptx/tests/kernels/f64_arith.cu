// arch: compute_75
// Double precision: arithmetic with every rounding.
#include "common.cuh"

#define ROUNDED2(name)                                                                                               \
    OP2(name ".f64", l, l, l)                                                                                        \
    OP2(name ".rn.f64", l, l, l)                                                                                     \
    OP2(name ".rz.f64", l, l, l)                                                                                     \
    OP2(name ".rm.f64", l, l, l)                                                                                     \
    OP2(name ".rp.f64", l, l, l)

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
    OP3("fma.rn.f64", l, l, l, l)
    OP3("fma.rz.f64", l, l, l, l)
    OP3("fma.rm.f64", l, l, l, l)
    OP3("fma.rp.f64", l, l, l, l)
    OP3("mad.rn.f64", l, l, l, l)
}

ROWS(divide) {
    INPUTS
    OP2("div.rn.f64", l, l, l)
    OP2("div.rz.f64", l, l, l)
    OP2("div.rm.f64", l, l, l)
    OP2("div.rp.f64", l, l, l)
}

ROWS(unary) {
    INPUTS
    OP1("rcp.rn.f64", l, l)
    OP1("rcp.rz.f64", l, l)
    OP1("rcp.rm.f64", l, l)
    OP1("rcp.rp.f64", l, l)
    OP1("sqrt.rn.f64", l, l)
    OP1("sqrt.rz.f64", l, l)
    OP1("sqrt.rm.f64", l, l)
    OP1("sqrt.rp.f64", l, l)
}
