// arch: compute_75
// Fetches and surfaces of every shape: a thread for each texel of an image of 8 times 4 texels, or of its 3 slices or layers.
#include "common.cuh"

typedef cudaTextureObject_t Texture;
typedef cudaSurfaceObject_t Surface;

// Rows of `out`: the texel in the middle, halfway to the next in x, by number, gathered, and in an array of lines.
extern "C" __global__ void fetches(Texture plane, Texture line, Texture lines, float *out) {
    u32 x = threadIdx.x, y = blockIdx.x, i = y * 8 + x;
    out[i] = tex2D<float>(plane, x + 0.5f, y + 0.5f);
    out[32 + i] = tex2D<float>(plane, x + 1.0f, y + 0.5f);
    out[64 + i] = tex1Dfetch<float>(line, (int)i);
    out[96 + i] = tex2Dgather<float4>(plane, x + 1.0f, y + 1.0f, 0).w;
    out[128 + i] = tex1DLayered<float>(lines, x + 0.5f, y);
    out[160 + i] = tex2DLod<float>(plane, x + 0.5f, y + 0.5f, 0.0f);
}

extern "C" __global__ void slices(Texture box, Texture layers, float *out) {
    u32 x = threadIdx.x, y = blockIdx.x, z = blockIdx.y, i = (z * 4 + y) * 8 + x;
    out[i] = tex3D<float>(box, x + 0.5f, y + 0.5f, z + 0.5f);
    out[96 + i] = tex2DLayered<float>(layers, x + 0.5f, y + 0.5f, z);
}

// Each row goes to the next but one, and what is outside of the surface nowhere.
extern "C" __global__ void surfaces(Surface plane, Surface layers, Surface halves, u32 *out) {
    u32 x = threadIdx.x, y = blockIdx.x, i = y * 8 + x, value;
    surf2Dread(&value, plane, 4 * x, y);
    surf2Dwrite(value + 1, plane, 4 * x, y + 2, cudaBoundaryModeZero);
    out[i] = value;
    surf2Dread(&value, plane, 4 * x - 4, y, cudaBoundaryModeClamp);
    out[32 + i] = value;
    surf2DLayeredwrite(i, layers, 4 * x, y, 1);
    ushort2 pair;
    surf1Dread(&pair, halves, 4 * x, cudaBoundaryModeTrap);
    out[64 + i] = pair.x + 1000 * pair.y;
}

// What cooperative groups of the whole grid count in.
extern "C" __global__ void workspace(u32 *out) {
    asm("mov.u32 %0, %%envreg1;" : "=r"(out[0]));
    asm("mov.u32 %0, %%envreg2;" : "=r"(out[1]));
}
