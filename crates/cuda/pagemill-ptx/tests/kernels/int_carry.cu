// arch: compute_75
// Extended-precision arithmetic through the carry flag.
#include "common.cuh"

// 128-bit sums and differences of (b:a) and (c:b), low and high half.
#define WIDE(type, low, high)                                                                                        \
    {                                                                                                                \
        u64 lo, hi;                                                                                                  \
        asm(low "." type " %0, %2, %3; " high "." type " %1, %4, %5;"                                                \
            : "=&l"(lo), "=l"(hi)                                                                                    \
            : "l"(a), "l"(b), "l"(c), "l"(a ^ b));                                                                   \
        PUT(lo)                                                                                                      \
        PUT(hi)                                                                                                      \
    }

ROWS(wide_sums) {
    INPUTS
    WIDE("u64", "add.cc", "addc")
    WIDE("s64", "add.cc", "addc")
    WIDE("u64", "sub.cc", "subc")
    WIDE("s64", "sub.cc", "subc")
}

// A chain of three 32-bit words whose last carry is taken out as a number.
#define CHAIN(type, first, next)                                                                                     \
    {                                                                                                                \
        u32 x, y, z, carry;                                                                                          \
        asm(first ".cc." type " %0, %4, %5; " next ".cc." type " %1, %6, %7; " next ".cc." type " %2, %8, %9; "       \
            "addc.u32 %3, 0, 0;"                                                                                     \
            : "=&r"(x), "=&r"(y), "=&r"(z), "=r"(carry)                                                              \
            : "r"((u32)a), "r"((u32)b), "r"((u32)(a >> 32)), "r"((u32)(b >> 32)), "r"((u32)c), "r"((u32)(c >> 32))); \
        PUT((u64)y << 32 | x)                                                                                        \
        PUT((u64)carry << 32 | z)                                                                                    \
    }

ROWS(chains) {
    INPUTS
    CHAIN("u32", "add", "addc")
    CHAIN("s32", "add", "addc")
    CHAIN("u32", "sub", "subc")
    CHAIN("s32", "sub", "subc")
}

// Full products added to an accumulator: 64 x 64 -> 128 bits in 32-bit and in 64-bit steps.
ROWS(products) {
    INPUTS
    {
        u32 d0, d1, d2, d3;
        asm("mul.lo.u32 %0, %4, %6;\n\t"
            "mul.hi.u32 %1, %4, %6;\n\t"
            "mad.lo.cc.u32 %1, %4, %7, %1;\n\t"
            "madc.hi.u32 %2, %4, %7, 0;\n\t"
            "mad.lo.cc.u32 %1, %5, %6, %1;\n\t"
            "madc.hi.cc.u32 %2, %5, %6, %2;\n\t"
            "madc.hi.u32 %3, %5, %7, 0;\n\t"
            "mad.lo.cc.u32 %2, %5, %7, %2;\n\t"
            "addc.u32 %3, %3, 0;"
            : "=&r"(d0), "=&r"(d1), "=&r"(d2), "=&r"(d3)
            : "r"((u32)a), "r"((u32)(a >> 32)), "r"((u32)b), "r"((u32)(b >> 32)));
        PUT((u64)d1 << 32 | d0)
        PUT((u64)d3 << 32 | d2)
    }
    {
        u64 lo, hi;
        asm("mad.lo.cc.u64 %0, %2, %3, %4; madc.hi.u64 %1, %2, %3, 0;" : "=&l"(lo), "=l"(hi) : "l"(a), "l"(b), "l"(c));
        PUT(lo)
        PUT(hi)
    }
    {
        u32 lo, hi;
        asm("mad.hi.cc.s32 %0, %2, %3, %4; madc.lo.s32 %1, %2, %3, %4;"
            : "=&r"(lo), "=r"(hi)
            : "r"((u32)a), "r"((u32)b), "r"((u32)c));
        PUT(lo)
        PUT(hi)
    }
}
