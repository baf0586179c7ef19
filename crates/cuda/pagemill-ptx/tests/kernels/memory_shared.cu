// arch: compute_75
// Shared memory: static and dynamic, every width and vectors.
#include "common.cuh"

extern __shared__ u32 dynamic[];

// Reverses each block through static memory and rotates it through dynamic memory.
extern "C" __global__ void exchange(const u32 *in, u32 *reversed, u32 *rotated) {
    __shared__ u32 fixed[128];
    u32 t = threadIdx.x, base = blockIdx.x * blockDim.x;
    fixed[t] = in[base + t];
    dynamic[t] = in[base + t];
    __syncthreads();
    reversed[base + t] = fixed[blockDim.x - 1 - t];
    rotated[base + t] = dynamic[(t + 33) % blockDim.x];
}

extern "C" __global__ void widths(const u64 *in, u64 *out) {
    __shared__ __align__(16) u8 bytes[64 * 32];
    u32 t = threadIdx.x;
    u8 *cell = bytes + 64 * t;
    u64 value = in[t];
    cell[0] = value;
    *(u16 *)(cell + 2) = value >> 8;
    *(u32 *)(cell + 4) = value >> 24;
    *(u64 *)(cell + 8) = ~value;
    *(float4 *)(cell + 16) = make_float4(1.0f, t, 2.0f, -1.0f);
    *(double2 *)(cell + 32) = make_double2(t * 0.5, 3.0);
    __syncthreads();
    const u8 *other = bytes + 64 * (31 - t);
    u64 *row = out + 8 * t;
    row[0] = other[0];
    row[1] = (s64)(s8)other[0];
    row[2] = *(const u16 *)(other + 2);
    row[3] = (s64) * (const s16 *)(other + 2);
    row[4] = *(const u32 *)(other + 4);
    row[5] = *(const u64 *)(other + 8);
    float4 f = *(const float4 *)(other + 16);
    row[6] = __float_as_uint(f.y + f.z * f.w);
    double2 d = *(const double2 *)(other + 32);
    row[7] = __double_as_longlong(d.x * d.y);
}

// Two views of dynamic memory behind each other, the split given at launch.
extern "C" __global__ void carve(u32 *out, u32 split) {
    u16 *low = (u16 *)dynamic;
    u64 *high = (u64 *)((u8 *)dynamic + split);
    low[threadIdx.x] = threadIdx.x * 3;
    high[threadIdx.x] = threadIdx.x * 0x100000001ull;
    __syncthreads();
    u32 peer = threadIdx.x ^ 5;
    out[threadIdx.x] = low[peer] + (u32)(high[peer] >> 32);
}
