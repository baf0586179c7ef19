// arch: compute_75
// What a thread can know about itself.
#include "common.cuh"

#define SPECIAL(name)                                                                                                \
    {                                                                                                                \
        u32 value;                                                                                                   \
        asm volatile("mov.u32 %0, %%" name ";" : "=r"(value));                                                       \
        out[k++ * total + i] = value;                                                                                \
    }

extern "C" __global__ void identity(u32 *out) {
    u32 block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    u32 thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    u32 per_block = blockDim.x * blockDim.y * blockDim.z;
    u32 total = per_block * gridDim.x * gridDim.y * gridDim.z, i = block * per_block + thread, k = 0;
    SPECIAL("tid.x")
    SPECIAL("tid.y")
    SPECIAL("tid.z")
    SPECIAL("ntid.x")
    SPECIAL("ntid.y")
    SPECIAL("ntid.z")
    SPECIAL("ctaid.x")
    SPECIAL("ctaid.y")
    SPECIAL("ctaid.z")
    SPECIAL("nctaid.x")
    SPECIAL("nctaid.y")
    SPECIAL("nctaid.z")
    SPECIAL("laneid")
    SPECIAL("warpid")
    SPECIAL("lanemask_eq")
    SPECIAL("lanemask_lt")
    SPECIAL("lanemask_le")
    SPECIAL("lanemask_gt")
    SPECIAL("lanemask_ge")
    u32 size;
    asm volatile("mov.u32 %0, WARP_SZ;" : "=r"(size));
    out[k++ * total + i] = size;
}

// Values that differ from machine to machine: only what must hold of them is reported.
extern "C" __global__ void machine(u32 *out) {
    u32 sm, sms, warps, clock, late, grid;
    u64 clock64, late64, timer;
    asm volatile("mov.u32 %0, %%smid; mov.u32 %1, %%nsmid; mov.u32 %2, %%nwarpid;" : "=r"(sm), "=r"(sms), "=r"(warps));
    asm volatile("mov.u32 %0, %%clock; mov.u64 %1, %%clock64;" : "=r"(clock), "=l"(clock64));
    asm volatile("mov.u64 %0, %%globaltimer; mov.u32 %1, %%gridid;" : "=l"(timer), "=r"(grid));
    asm volatile("mov.u64 %0, %%clock64; mov.u32 %1, %%clock;" : "=l"(late64), "=r"(late));
    u32 shared;
    asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared));
    out[threadIdx.x] = sm < sms;
    out[32 + threadIdx.x] = threadIdx.x / 32 < warps;
    out[64 + threadIdx.x] = late64 >= clock64;
    out[96 + threadIdx.x] = shared;
}
