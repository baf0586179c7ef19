// arch: compute_75
// Integer atomics on global and shared memory: the final value is the same in whatever order threads run, and the old
// values together are, too.
#include "common.cuh"

#define ATOM(space, constraint, op, type, R, place, value)                                                           \
    {                                                                                                                \
        CLASS_##R old;                                                                                               \
        asm volatile("atom." space op "." type " %0, [%1], %2;" : "=" #R(old) : constraint(place), #R(value) : "memory"); \
        olds ^= (u64)old * 0x9E3779B97F4A7C15ull;                                                                    \
        k++;                                                                                                         \
    }

#define ALL32(space, constraint, cells, x)                                                                           \
    ATOM(space, constraint, "add", "u32", r, cells + k, x)                                                           \
    ATOM(space, constraint, "add", "s32", r, cells + k, x)                                                           \
    ATOM(space, constraint, "min", "u32", r, cells + k, x)                                                           \
    ATOM(space, constraint, "min", "s32", r, cells + k, x)                                                           \
    ATOM(space, constraint, "max", "u32", r, cells + k, x)                                                           \
    ATOM(space, constraint, "max", "s32", r, cells + k, x)                                                           \
    ATOM(space, constraint, "inc", "u32", r, cells + k, 1000)                                                        \
    ATOM(space, constraint, "dec", "u32", r, cells + k, 1000)                                                        \
    ATOM(space, constraint, "and", "b32", r, cells + k, x | 0xFF00FF00)                                              \
    ATOM(space, constraint, "or", "b32", r, cells + k, x & 0x11111111)                                               \
    ATOM(space, constraint, "xor", "b32", r, cells + k, x)

#define ALL64(space, constraint, cells, x)                                                                           \
    ATOM(space, constraint, "add", "u64", l, cells + k, x)                                                           \
    ATOM(space, constraint, "min", "u64", l, cells + k, x)                                                           \
    ATOM(space, constraint, "min", "s64", l, cells + k, x)                                                           \
    ATOM(space, constraint, "max", "u64", l, cells + k, x)                                                           \
    ATOM(space, constraint, "max", "s64", l, cells + k, x)                                                           \
    ATOM(space, constraint, "and", "b64", l, cells + k, x | 0xFF00FF00FF00FF00ull)                                   \
    ATOM(space, constraint, "or", "b64", l, cells + k, x & 0x1111111111111111ull)                                    \
    ATOM(space, constraint, "xor", "b64", l, cells + k, x)

extern "C" __global__ void global32(const u64 *in, u32 *cells) {
    u32 x = in[blockIdx.x * blockDim.x + threadIdx.x], k = 0;
    u64 olds = 0;
    ALL32("global.", "l", cells, x)
}

extern "C" __global__ void global64(const u64 *in, u64 *cells) {
    u64 x = in[blockIdx.x * blockDim.x + threadIdx.x], olds = 0;
    u32 k = 0;
    ALL64("global.", "l", cells, x)
}

extern "C" __global__ void generic32(const u64 *in, u32 *cells) {
    u32 x = in[blockIdx.x * blockDim.x + threadIdx.x], k = 0;
    u64 olds = 0;
    ALL32("", "l", cells, x)
}

// One block each; the cells are copied in and out.
extern "C" __global__ void shared32(const u64 *in, u32 *cells) {
    __shared__ u32 tile[16];
    if (threadIdx.x < 16) tile[threadIdx.x] = cells[threadIdx.x];
    __syncthreads();
    u32 x = in[threadIdx.x], k = 0, base = (u32)__cvta_generic_to_shared(tile);
    u64 olds = 0;
#define PLACE(index) (base + 4 * (index))
    ATOM("shared.", "r", "add", "u32", r, PLACE(k), x)
    ATOM("shared.", "r", "add", "s32", r, PLACE(k), x)
    ATOM("shared.", "r", "min", "u32", r, PLACE(k), x)
    ATOM("shared.", "r", "min", "s32", r, PLACE(k), x)
    ATOM("shared.", "r", "max", "u32", r, PLACE(k), x)
    ATOM("shared.", "r", "max", "s32", r, PLACE(k), x)
    ATOM("shared.", "r", "inc", "u32", r, PLACE(k), 1000)
    ATOM("shared.", "r", "dec", "u32", r, PLACE(k), 1000)
    ATOM("shared.", "r", "and", "b32", r, PLACE(k), x | 0xFF00FF00)
    ATOM("shared.", "r", "or", "b32", r, PLACE(k), x & 0x11111111)
    ATOM("shared.", "r", "xor", "b32", r, PLACE(k), x)
    __syncthreads();
    if (threadIdx.x < 16) cells[threadIdx.x] = tile[threadIdx.x];
}

extern "C" __global__ void shared64(const u64 *in, u64 *cells) {
    __shared__ u64 tile[16];
    if (threadIdx.x < 16) tile[threadIdx.x] = cells[threadIdx.x];
    __syncthreads();
    atomicAdd(tile, in[threadIdx.x]);
    atomicMin(tile + 1, in[threadIdx.x]);
    atomicMin((s64 *)tile + 2, (s64)in[threadIdx.x]);
    atomicMax(tile + 3, in[threadIdx.x]);
    atomicMax((s64 *)tile + 4, (s64)in[threadIdx.x]);
    atomicAnd(tile + 5, in[threadIdx.x] | 0xFF00FF00FF00FF00ull);
    atomicOr(tile + 6, in[threadIdx.x] & 0x1111111111111111ull);
    atomicXor(tile + 7, in[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x < 16) cells[threadIdx.x] = tile[threadIdx.x];
}

// Each thread draws a ticket; a ticket drawn twice or never shows in the marks.
extern "C" __global__ void tickets(u32 *cursor, u32 *marks, u64 *wide_cursor) {
    u32 ticket = atomicAdd(cursor, 1);
    atomicAdd(&marks[ticket], 1 + (ticket & 1));
    __shared__ u32 local_cursor;
    if (threadIdx.x == 0) local_cursor = 0;
    __syncthreads();
    u32 local_ticket = atomicInc(&local_cursor, 0xFFFFFFFF);
    if (local_ticket < blockDim.x) atomicAdd(wide_cursor, 1ull << (local_ticket & 31));
}
