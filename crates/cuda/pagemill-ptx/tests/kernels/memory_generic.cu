// arch: compute_75
// Generic addresses: one function that reads and writes wherever it is pointed to, and the tests of address windows.
#include "common.cuh"

__constant__ u32 constants[4] = {100, 200, 300, 400};

__device__ __noinline__ u32 bump(u32 *place) {
    u32 old = *place;
    *place = old + 1;
    return old;
}
__device__ __noinline__ u32 read(const u32 *place) { return *place; }

extern "C" __global__ void spaces(u32 *data, u32 *out) {
    __shared__ u32 tile[32];
    u32 mine[4] = {7, 8, 9, threadIdx.x};
    u32 t = threadIdx.x;
    tile[t] = t * 10;
    __syncwarp();
    u32 *target = t % 3 == 0 ? &data[t] : t % 3 == 1 ? &tile[t] : &mine[t & 3];
    u32 old = bump(target);
    out[t] = old * 1000 + read(target);
    out[32 + t] = read(&constants[t & 3]);
}

#define IS(space)                                                                                                    \
    {                                                                                                                \
        u32 yes;                                                                                                     \
        asm volatile("{ .reg .pred p; isspacep." space " p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(yes) : "l"(place));  \
        bits = bits * 2 + yes;                                                                                       \
    }

extern "C" __global__ void windows(u32 *data, u32 *out) {
    __shared__ u32 tile[32];
    u32 mine[4];
    mine[threadIdx.x & 3] = 1;
    tile[threadIdx.x] = 2;
    void *places[4] = {data, tile, mine, (void *)constants};
    for (u32 k = 0; k < 4; k++) {
        void *place = places[(k + threadIdx.x) & 3];
        u32 bits = 0;
        IS("global")
        IS("shared")
        IS("local")
        IS("const")
        out[k * 32 + threadIdx.x] = bits;
    }
    out[128 + threadIdx.x] = mine[threadIdx.x & 3] + tile[threadIdx.x ^ 1];
}

// To a window and back again.
extern "C" __global__ void round_trip(u32 *data, u32 *out) {
    __shared__ u32 tile[32];
    u32 t = threadIdx.x;
    tile[t] = t + 50;
    __syncthreads();
    u64 generic, window;
    asm volatile("cvta.to.shared.u64 %0, %1;" : "=l"(window) : "l"(tile + t));
    asm volatile("cvta.shared.u64 %0, %1;" : "=l"(generic) : "l"(window));
    u32 a, b, c;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(a) : "l"(window));
    asm volatile("ld.u32 %0, [%1];" : "=r"(b) : "l"(generic));
    asm volatile("{ .reg .u64 g; cvta.to.global.u64 g, %1; ld.global.u32 %0, [g]; }" : "=r"(c) : "l"(data + t));
    out[t] = a * 10000 + b * 100 + c;
}
