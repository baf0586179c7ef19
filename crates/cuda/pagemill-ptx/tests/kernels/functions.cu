// arch: compute_75
// Device functions that are not inlined: structures in and out, several calls of one function, calls under divergence.
#include "common.cuh"

struct Vec {
    float x, y, z;
};
struct Wide {
    u64 low, high;
    u8 tag;
};

__device__ __noinline__ float dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ __noinline__ Vec cross(const Vec &a, const Vec &b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
__device__ __noinline__ Wide multiply(u64 a, u64 b, u8 tag) { return {a * b, __umul64hi(a, b), (u8)(tag + 1)}; }
__device__ __noinline__ u32 digits(u32 x) {
    u32 sum = 0;
    do {
        sum += x % 10;
        x /= 10;
    } while (x != 0);
    return sum;
}
__device__ __noinline__ u32 root(u32 x) { return x < 10 ? x : digits(x) < 10 ? digits(x) + 50 : digits(digits(x)); }
__device__ __noinline__ s16 narrow(s8 a, u16 b) { return a - b; }
__device__ __noinline__ bool is_even(u32 x) { return x % 2 == 0; }
__device__ __noinline__ void store(u32 *place, u32 value) {
    if (value == 13) return;
    *place = value;
}

extern "C" __global__ void vectors(const float *in, float *out) {
    u32 t = threadIdx.x;
    Vec a = {in[t], in[t + 1], in[t + 2]}, b = {in[t + 3], in[t + 4], in[t + 5]};
    Vec c = cross(a, b);
    out[t] = dot(c, a) + dot(a, b);
    out[64 + t] = dot(cross(c, b), {1.0f, 2.0f, 3.0f});
}

extern "C" __global__ void structs(const u64 *in, u64 *out) {
    u32 t = threadIdx.x;
    Wide w = multiply(in[t], in[t + 1], t);
    Wide v = multiply(w.low, w.high, w.tag);
    out[2 * t] = v.low ^ v.high;
    out[2 * t + 1] = v.tag;
}

extern "C" __global__ void divergent(const u32 *in, u32 *out) {
    u32 t = threadIdx.x, x = in[t];
    u32 y = is_even(x) ? root(x) : digits(x) * 1000;
    if (x % 3 == 0) y += root(x / 3);
    out[t] = y + (u16)narrow((s8)x, (u16)(x >> 8));
    store(out + 64 + t, x % 20);
}
