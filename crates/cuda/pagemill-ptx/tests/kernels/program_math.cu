// arch: compute_75
// The compiler's own math library, single and double precision, and half precision through its header.
#include "common.cuh"
#include <cuda_fp16.h>

extern "C" __global__ void single(const float *in, float *out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    u32 k = 0;
#define ROW(value) out[k++ * n + i] = (value);
    ROW(sinf(x))
    ROW(cosf(x))
    ROW(tanf(x))
    ROW(expf(x))
    ROW(logf(fabsf(x)))
    ROW(powf(fabsf(x), 0.3f))
    ROW(atan2f(x, 2.0f))
    ROW(tanhf(x))
    ROW(erff(x))
    ROW(cbrtf(x))
    ROW(floorf(x) + ceilf(x) * 2 + truncf(x) * 4 + roundf(x) * 8 + rintf(x) * 16)
    ROW(fmodf(x, 0.7f))
    ROW(sqrtf(fabsf(x)) / (1.0f + x * x))
}

extern "C" __global__ void doubles(const double *in, double *out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = in[i];
    u32 k = 0;
    ROW(sin(x))
    ROW(cos(x))
    ROW(exp(x))
    ROW(log(fabs(x)))
    ROW(pow(fabs(x), 0.3))
    ROW(atan(x))
    ROW(tanh(x))
    ROW(cbrt(x))
    ROW(hypot(x, 3.0))
    ROW(floor(x) + ceil(x) * 2 + trunc(x) * 4 + round(x) * 8 + rint(x) * 16)
    ROW(sqrt(fabs(x)) / (1.0 + x * x))
}

extern "C" __global__ void halves(const float *in, float *out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half a = __float2half(in[i]), b = __float2half(in[(i + 1) % n]);
    u32 k = 0;
    ROW(__half2float(a + b))
    ROW(__half2float(a * b))
    ROW(__half2float(a - b))
    ROW(__half2float(__hfma(a, b, a)))
    ROW(a < b ? 1.0f : 0.0f)
    __half2 pair = __hadd2(__halves2half2(a, b), __halves2half2(b, b));
    ROW(__low2float(pair))
    ROW(__high2float(pair))
}
