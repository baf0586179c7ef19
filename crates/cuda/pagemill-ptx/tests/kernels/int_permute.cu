// arch: compute_75
// Byte permutation in all modes, and dot products of packed bytes and halves.
#include "common.cuh"

ROWS(permute) {
    INPUTS
    OP3("prmt.b32", r, r, r, r)
    OP3("prmt.b32.f4e", r, r, r, r)
    OP3("prmt.b32.b4e", r, r, r, r)
    OP3("prmt.b32.rc8", r, r, r, r)
    OP3("prmt.b32.ecl", r, r, r, r)
    OP3("prmt.b32.ecr", r, r, r, r)
    OP3("prmt.b32.rc16", r, r, r, r)
}

ROWS(dot) {
    INPUTS
    OP3("dp4a.u32.u32", r, r, r, r)
    OP3("dp4a.u32.s32", r, r, r, r)
    OP3("dp4a.s32.u32", r, r, r, r)
    OP3("dp4a.s32.s32", r, r, r, r)
    OP3("dp2a.lo.u32.u32", r, r, r, r)
    OP3("dp2a.lo.u32.s32", r, r, r, r)
    OP3("dp2a.lo.s32.u32", r, r, r, r)
    OP3("dp2a.lo.s32.s32", r, r, r, r)
    OP3("dp2a.hi.u32.u32", r, r, r, r)
    OP3("dp2a.hi.u32.s32", r, r, r, r)
    OP3("dp2a.hi.s32.u32", r, r, r, r)
    OP3("dp2a.hi.s32.s32", r, r, r, r)
}
