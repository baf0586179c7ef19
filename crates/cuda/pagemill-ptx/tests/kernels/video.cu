// arch: compute_75
// Bytes, halfwords and words at once: every operation with every combination of signs.
#include "common.cuh"

#define SIGNS(op, tail)                                                                                              \
    OP3(op ".u32.u32.u32" tail, r, r, r, r)                                                                          \
    OP3(op ".u32.u32.s32" tail, r, r, r, r)                                                                          \
    OP3(op ".u32.s32.u32" tail, r, r, r, r)                                                                          \
    OP3(op ".u32.s32.s32" tail, r, r, r, r)                                                                          \
    OP3(op ".s32.u32.u32" tail, r, r, r, r)                                                                          \
    OP3(op ".s32.u32.s32" tail, r, r, r, r)                                                                          \
    OP3(op ".s32.s32.u32" tail, r, r, r, r)                                                                          \
    OP3(op ".s32.s32.s32" tail, r, r, r, r)
#define PACKED(op)                                                                                                   \
    SIGNS(op, "")                                                                                                    \
    SIGNS(op, ".sat")                                                                                                \
    SIGNS(op, ".add")

ROWS(bytes) {
    INPUTS
    PACKED("vadd4")
    PACKED("vsub4")
    PACKED("vavrg4")
    PACKED("vabsdiff4")
    PACKED("vmin4")
    PACKED("vmax4")
}

ROWS(halves) {
    INPUTS
    PACKED("vadd2")
    PACKED("vsub2")
    PACKED("vavrg2")
    PACKED("vabsdiff2")
    PACKED("vmin2")
    PACKED("vmax2")
}

// Without a second operation, words have two operands.
#define WORD_SIGNS(op, tail)                                                                                         \
    OP2(op ".u32.u32.u32" tail, r, r, r)                                                                             \
    OP2(op ".u32.u32.s32" tail, r, r, r)                                                                             \
    OP2(op ".u32.s32.u32" tail, r, r, r)                                                                             \
    OP2(op ".u32.s32.s32" tail, r, r, r)                                                                             \
    OP2(op ".s32.u32.u32" tail, r, r, r)                                                                             \
    OP2(op ".s32.u32.s32" tail, r, r, r)                                                                             \
    OP2(op ".s32.s32.u32" tail, r, r, r)                                                                             \
    OP2(op ".s32.s32.s32" tail, r, r, r)
#define WORDS(op)                                                                                                    \
    WORD_SIGNS(op, "")                                                                                               \
    WORD_SIGNS(op, ".sat")                                                                                           \
    SIGNS(op, ".add")                                                                                                \
    SIGNS(op, ".min")                                                                                                \
    SIGNS(op, ".max")                                                                                                \
    SIGNS(op, ".sat.add")

ROWS(words) {
    INPUTS
    WORDS("vadd")
    WORDS("vsub")
    WORDS("vabsdiff")
    WORDS("vmin")
    WORDS("vmax")
}
