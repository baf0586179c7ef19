// arch: compute_75
// Streams of doubles, an element for each thread, as gpu-stream of RRZE-HPC/gpu-benches has them.

extern "C" __global__ void stream_init(double *a)
{
    a[blockIdx.x * (size_t)blockDim.x + threadIdx.x] = 0.25;
}

extern "C" __global__ void stream_read(const double *b, double *a)
{
    double value = b[blockIdx.x * (size_t)blockDim.x + threadIdx.x];
    // Never true: the load has to stay.
    if (value == -1.0)
        a[0] = value;
}

extern "C" __global__ void stream_scale(const double *b, double *a)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    a[i] = b[i] * 2.0;
}

extern "C" __global__ void stream_triad(const double *b, const double *c, const double *d, double *a)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    a[i] = b[i] * d[i] + c[i];
}
