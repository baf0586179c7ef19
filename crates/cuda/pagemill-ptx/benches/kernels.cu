// Kernels of the speed benchmark. kernels.ptx is made of this file by: nvcc -ptx -arch=compute_75 kernels.cu
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

// Independent chains, so that what is measured is arithmetic.
extern "C" __global__ void fma_loop(float *out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i, y = i + 1, z = i + 2, w = i + 3;
#pragma unroll 8
    for (int round = 0; round < rounds; ++round) {
        x = x * 0.999f + 0.5f;
        y = y * 0.998f + 0.25f;
        z = z * 0.997f + 0.125f;
        w = w * 0.996f + 0.0625f;
    }
    out[i] = x + y + z + w;
}

extern "C" __global__ void integer_hash(const unsigned *in, unsigned *out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned h = in[i];
    for (int round = 0; round < rounds; ++round) {
        h ^= h >> 16;
        h *= 0x85ebca6bu;
        h ^= h >> 13;
        h *= 0xc2b2ae35u;
        h ^= h >> 16;
        h = (h << 7) | (h >> 25);
        h += round;
    }
    out[i] = h;
}

extern "C" __global__ void gather(const unsigned *index, const float *from, float *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[index[i]];
}

// A reduction in shared memory with a barrier in each round.
extern "C" __global__ void block_sum(const float *in, float *out)
{
    __shared__ float part[256];
    int t = threadIdx.x;
    part[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int half = 128; half > 0; half >>= 1) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

// One step of a 7-point stencil.
extern "C" __global__ void stencil(const float *in, float *out, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
    for (int z = 1; z < nz - 1; ++z) {
        int at = (z * ny + y) * nx + x;
        out[at] = (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + in[at - nx * ny] + in[at + nx * ny]) * (1.0f / 6)
            - in[at];
    }
}

// Lanes part and meet again.
extern "C" __global__ void divergence(unsigned *out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = i;
    for (int round = 0; round < rounds; ++round) {
        if (v & 1) v = v * 3 + 1;
        else if (v & 2) v = (v >> 1) ^ round;
        else v += 7;
    }
    out[i] = v;
}
