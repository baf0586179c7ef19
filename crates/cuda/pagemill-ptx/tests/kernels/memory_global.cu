// arch: compute_75
// Global memory: every width, sign extension, vectors, cache operators, volatile and ordered accesses.
#include "common.cuh"

// Eight loads of the same 32-byte cell in different widths, each extended to 64 bits.
extern "C" __global__ void widths(const u8 *in, u64 *out) {
    u32 i = threadIdx.x;
    const u8 *cell = in + 32 * i;
    u64 *row = out + 8 * i;
    row[0] = *cell;
    row[1] = (s64)(s8)cell[1];
    row[2] = *(const u16 *)(cell + 2);
    row[3] = (s64) * (const s16 *)(cell + 4);
    row[4] = *(const u32 *)(cell + 8);
    row[5] = (s64) * (const s32 *)(cell + 12);
    row[6] = *(const u64 *)(cell + 16);
    row[7] = __double_as_longlong(*(const double *)(cell + 24));
}

extern "C" __global__ void narrow_stores(const u64 *in, u8 *out) {
    u32 i = threadIdx.x;
    u64 value = in[i];
    u8 *cell = out + 16 * i;
    cell[0] = value;
    cell[1] = value >> 8;
    *(u16 *)(cell + 2) = value >> 16;
    *(u32 *)(cell + 4) = value >> 32;
    *(u64 *)(cell + 8) = ~value;
}

extern "C" __global__ void vectors(const u8 *in, u8 *out) {
    u32 i = threadIdx.x;
    const u8 *from = in + 64 * i;
    u8 *to = out + 64 * i;
    uint4 a = *(const uint4 *)from;
    *(uint4 *)to = make_uint4(a.w, a.z, a.y, a.x);
    uint2 b = *(const uint2 *)(from + 16);
    *(uint2 *)(to + 16) = make_uint2(b.y, b.x);
    ulonglong2 c = *(const ulonglong2 *)(from + 32);
    *(ulonglong2 *)(to + 32) = make_ulonglong2(c.y, c.x);
    uchar4 d = *(const uchar4 *)(from + 24);
    *(uchar4 *)(to + 24) = make_uchar4(d.w, d.z, d.y, d.x);
    ushort2 e = *(const ushort2 *)(from + 28);
    *(ushort2 *)(to + 28) = make_ushort2(e.y, e.x);
    float4 f = *(const float4 *)(from + 48);
    *(float4 *)(to + 48) = make_float4(f.y, f.x, f.w, f.z);
}

#define LOAD(text)                                                                                                   \
    {                                                                                                                \
        u32 d;                                                                                                       \
        asm volatile(text " %0, [%1];" : "=r"(d) : "l"(in + i));                                                     \
        out[k++ * 32 + i] = d;                                                                                       \
    }
#define STORE(text) asm volatile(text " [%0], %1;" ::"l"(out + k++ * 32 + i), "r"(in[i] + k));

extern "C" __global__ void operators(const u32 *in, u32 *out) {
    u32 i = threadIdx.x, k = 0;
    LOAD("ld.global.ca.u32")
    LOAD("ld.global.cg.u32")
    LOAD("ld.global.cs.u32")
    LOAD("ld.global.lu.u32")
    LOAD("ld.global.cv.u32")
    LOAD("ld.global.nc.u32")
    LOAD("ld.global.nc.L1::no_allocate.u32")
    LOAD("ld.global.L2::128B.u32")
    LOAD("ld.global.L1::evict_last.u32")
    LOAD("ld.volatile.global.u32")
    LOAD("ld.relaxed.gpu.global.u32")
    LOAD("ld.acquire.sys.global.u32")
    LOAD("ld.weak.global.u32")
    LOAD("ldu.global.u32")
    STORE("st.global.wb.u32")
    STORE("st.global.cg.u32")
    STORE("st.global.cs.u32")
    STORE("st.global.wt.u32")
    STORE("st.volatile.global.u32")
    STORE("st.relaxed.gpu.global.u32")
    STORE("st.release.cta.global.u32")
    STORE("st.weak.global.u32")
}

extern "C" __global__ void hints(const u32 *in, u32 *out) {
    u32 i = threadIdx.x;
    asm volatile("prefetch.global.L1 [%0];" ::"l"(in + i));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(in + i));
    asm volatile("prefetchu.L1 [%0];" ::"l"(in + i));
    u32 value = in[i];
    __threadfence_block();
    __threadfence();
    __threadfence_system();
    asm volatile("membar.cta; membar.gl; membar.sys;" ::: "memory");
    asm volatile("fence.acq_rel.gpu; fence.sc.cta;" ::: "memory");
    out[i] = value + 1;
}
