// What the kernels of this folder share: element-wise kernels of raw 64-bit inputs a, b, c whose every row of results is
// one instruction, and the macros that write such a row.
#pragma once
#pragma nv_diag_suppress 550

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;

#define ROWS(name)                                                                                                   \
    extern "C" __global__ void name(const u64 *as, const u64 *bs, const u64 *cs, u64 *out, u32 n)

// Reads this thread's inputs; results go to out[row][i].
#define INPUTS                                                                                                       \
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;                                                                   \
    if (i >= n) return;                                                                                              \
    u64 a = as[i], b = bs[i], c = cs[i];                                                                             \
    (void)a, (void)b, (void)c;                                                                                       \
    u64 *at = out + i;

#define PUT(value)                                                                                                   \
    {                                                                                                                \
        *at = (value);                                                                                               \
        at += n;                                                                                                     \
    }

// Register classes of inline assembly: h is 16 bits wide, r 32, l 64.
#define CLASS_h u16
#define CLASS_r u32
#define CLASS_l u64

// One instruction with one, two or three sources; D, A, B, C are register classes.
#define OP1(text, D, A)                                                                                              \
    {                                                                                                                \
        CLASS_##D d;                                                                                                 \
        asm(text " %0, %1;" : "=" #D(d) : #A((CLASS_##A)a));                                                         \
        PUT(d)                                                                                                       \
    }
#define OP2(text, D, A, B)                                                                                           \
    {                                                                                                                \
        CLASS_##D d;                                                                                                 \
        asm(text " %0, %1, %2;" : "=" #D(d) : #A((CLASS_##A)a), #B((CLASS_##B)b));                                   \
        PUT(d)                                                                                                       \
    }
#define OP3(text, D, A, B, C)                                                                                        \
    {                                                                                                                \
        CLASS_##D d;                                                                                                 \
        asm(text " %0, %1, %2, %3;" : "=" #D(d) : #A((CLASS_##A)a), #B((CLASS_##B)b), #C((CLASS_##C)c));             \
        PUT(d)                                                                                                       \
    }
// Two sources and a literal.
#define OP2I(text, literal, D, A, B)                                                                                 \
    {                                                                                                                \
        CLASS_##D d;                                                                                                 \
        asm(text " %0, %1, %2, " literal ";" : "=" #D(d) : #A((CLASS_##A)a), #B((CLASS_##B)b));                      \
        PUT(d)                                                                                                       \
    }
// Several instructions in a scope of their own: %0 is the result, %1 %2 %3 are a, b, c.
#define CODE(text, D, A, B, C)                                                                                       \
    {                                                                                                                \
        CLASS_##D d;                                                                                                 \
        asm("{ " text " }" : "=" #D(d) : #A((CLASS_##A)a), #B((CLASS_##B)b), #C((CLASS_##C)c));                      \
        PUT(d)                                                                                                       \
    }
