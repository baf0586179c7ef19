// arch: compute_75
// Bitwise logic of every width and on predicates, and three-input tables.
#include "common.cuh"

ROWS(logic) {
    INPUTS
    OP2("and.b16", h, h, h)
    OP2("and.b32", r, r, r)
    OP2("and.b64", l, l, l)
    OP2("or.b16", h, h, h)
    OP2("or.b32", r, r, r)
    OP2("or.b64", l, l, l)
    OP2("xor.b16", h, h, h)
    OP2("xor.b32", r, r, r)
    OP2("xor.b64", l, l, l)
    OP1("not.b16", h, h)
    OP1("not.b32", r, r)
    OP1("not.b64", l, l)
    OP1("cnot.b16", h, h)
    OP1("cnot.b32", r, r)
    OP1("cnot.b64", l, l)
}

#define TABLE(number)                                                                                                \
    {                                                                                                                \
        u32 d;                                                                                                       \
        asm("lop3.b32 %0, %1, %2, %3, " #number ";" : "=r"(d) : "r"((u32)a), "r"((u32)b), "r"((u32)c));              \
        PUT(d)                                                                                                       \
    }

ROWS(tables) {
    INPUTS
    TABLE(0x00)
    TABLE(0x01)
    TABLE(0x16)
    TABLE(0x1B)
    TABLE(0x80)
    TABLE(0x96)
    TABLE(0xCA)
    TABLE(0xE8)
    TABLE(0xF8)
    TABLE(0xFE)
    TABLE(0xFF)
}

// Predicates: p is bit 0 of a, q is bit 0 of b.
#define PREDICATES(text)                                                                                             \
    CODE(".reg .pred p, q, d; .reg .b32 t; and.b32 t, %1, 1; setp.ne.u32 p, t, 0; and.b32 t, %2, 1; "               \
         "setp.ne.u32 q, t, 0; " text " selp.u32 %0, 1, 0, d;",                                                      \
         r, r, r, r)

ROWS(predicates) {
    INPUTS
    PREDICATES("and.pred d, p, q;")
    PREDICATES("or.pred d, p, q;")
    PREDICATES("xor.pred d, p, q;")
    PREDICATES("not.pred d, p;")
    PREDICATES("mov.pred d, q;")
    PREDICATES("and.pred d, p, !q;")
    PREDICATES("lop3.and.b32 _|d, %1, %2, %3, 0x96, p;")
    PREDICATES("lop3.or.b32 _|d, %1, %2, %3, 0x80, q;")
}
