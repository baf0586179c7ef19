// arch: compute_75
// Counting and finding bits, and bit fields.
#include "common.cuh"

ROWS(bits) {
    INPUTS
    OP1("popc.b32", r, r)
    OP1("popc.b64", r, l)
    OP1("clz.b32", r, r)
    OP1("clz.b64", r, l)
    OP1("bfind.u32", r, r)
    OP1("bfind.s32", r, r)
    OP1("bfind.u64", r, l)
    OP1("bfind.s64", r, l)
    OP1("bfind.shiftamt.u32", r, r)
    OP1("bfind.shiftamt.s32", r, r)
    OP1("bfind.shiftamt.u64", r, l)
    OP1("bfind.shiftamt.s64", r, l)
    OP1("brev.b32", r, r)
    OP1("brev.b64", l, l)
}

// Positions and lengths are taken modulo 300, past 255: only their low eight bits count.
ROWS(fields) {
    INPUTS
    u64 word = a;
    b = b % 300;
    c = c % 300;
    a = word;
    OP3("bfe.u32", r, r, r, r)
    OP3("bfe.s32", r, r, r, r)
    OP3("bfe.u64", l, l, r, r)
    OP3("bfe.s64", l, l, r, r)
    {
        u32 d;
        asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"((u32)a), "r"((u32)(a >> 32)), "r"((u32)b), "r"((u32)c));
        PUT(d)
        u64 e;
        asm("bfi.b64 %0, %1, %2, %3, %4;" : "=l"(e) : "l"(a), "l"(~a * 3), "r"((u32)b), "r"((u32)c));
        PUT(e)
    }
    OP2("szext.wrap.u32", r, r, r)
    OP2("szext.wrap.s32", r, r, r)
    OP2("szext.clamp.u32", r, r, r)
    OP2("szext.clamp.s32", r, r, r)
    a = b;
    b = c;
    OP2("bmsk.wrap.b32", r, r, r)
    OP2("bmsk.clamp.b32", r, r, r)
}

// fns: the position of the n-th set bit from a base, upwards or downwards.
ROWS(find_nth) {
    INPUTS
    b = b % 32;
    c = (u32)(c % 65) - 32;
    OP3("fns.b32", r, r, r, r)
}
