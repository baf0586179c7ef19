// arch: compute_75
// c[i] = a[i] + b[i], one thread per element.

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, unsigned elements)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < elements)
        c[i] = a[i] + b[i];
}
