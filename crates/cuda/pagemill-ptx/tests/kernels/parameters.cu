// arch: compute_75
// Kernel parameters of every size and alignment, structures by value, and reading them at a run-time offset.
#include "common.cuh"

struct Mixed {
    u8 tag;
    u16 small;
    float scale;
    double precise;
    u64 wide;
    u8 text[5];
};

extern "C" __global__ void mixed(u8 a, s16 b, float c, Mixed d, u64 e, double *out) {
    u32 t = threadIdx.x;
    double sum = a + b + c + d.tag + d.small + d.scale + d.precise + (double)d.wide + d.text[t % 5] + (double)e;
    out[t] = sum;
}

struct Table {
    u32 values[16];
};

extern "C" __global__ void indexed(Table table, u32 *out) { out[threadIdx.x] = table.values[(threadIdx.x * 7) & 15]; }

extern "C" __global__ void none() {}
