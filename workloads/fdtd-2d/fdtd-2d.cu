// arch: compute_75
// A step of finite differences in time of a field in two dimensions, in three kernels. `ex` has a column more than the
// grid, `ey` a row.

extern "C" __global__ void fdtd_ey(const float *source, float *ey, const float *hz, unsigned size, unsigned step)
{
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= size || column >= size)
        return;
    size_t at = (size_t)row * size + column;
    if (row == 0)
        ey[at] = source[step];
    else
        ey[at] = ey[at] - 0.5f * (hz[at] - hz[at - size]);
}

extern "C" __global__ void fdtd_ex(float *ex, const float *hz, unsigned size)
{
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= size || column >= size || column == 0)
        return;
    size_t at = (size_t)row * size + column, wide = at + row;
    ex[wide] = ex[wide] - 0.5f * (hz[at] - hz[at - 1]);
}

extern "C" __global__ void fdtd_hz(const float *ex, const float *ey, float *hz, unsigned size)
{
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= size || column >= size)
        return;
    size_t at = (size_t)row * size + column, wide = at + row;
    hz[at] = hz[at] - 0.7f * (ex[wide + 1] - ex[wide] + ey[at + size] - ey[at]);
}
