// arch: compute_75
// Integer programs as the compiler writes them: CRC-32, 128-bit arithmetic, SHA-256's compression, modular powers.
#include "common.cuh"

extern "C" __global__ void crc(const u8 *in, u32 *out, u32 length) {
    const u8 *mine = in + threadIdx.x * length;
    u32 crc = 0xFFFFFFFF;
    for (u32 i = 0; i < length; i++) {
        crc ^= mine[i];
        for (u32 k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    out[threadIdx.x] = ~crc;
}

extern "C" __global__ void wide(const u64 *in, u64 *out) {
    u32 t = threadIdx.x;
    unsigned __int128 a = (unsigned __int128)in[t] << 64 | in[t + 1], b = (unsigned __int128)in[t + 2] << 7 | 3;
    unsigned __int128 c = a * b + (a >> 13) - (b << 70);
    c ^= c << (t * 4 & 127);
    out[2 * t] = (u64)c;
    out[2 * t + 1] = (u64)(c >> 64);
}

extern "C" __global__ void power(const u32 *in, u32 *out) {
    u64 base = in[threadIdx.x] % 1000003, result = 1;
    for (u32 exponent = in[threadIdx.x + 1]; exponent != 0; exponent >>= 1) {
        if (exponent & 1) result = result * base % 1000003;
        base = base * base % 1000003;
    }
    out[threadIdx.x] = result;
}

// Division by constants and by variables, signed and unsigned.
extern "C" __global__ void quotients(const u64 *in, u64 *out) {
    u32 t = threadIdx.x;
    u64 x = in[t], y = in[t + 1] >> 40 | 1;
    s64 z = (s64)x >> 3;
    s32 w = (s32)x;
    out[4 * t] = x / 1000000007 + x % 77;
    out[4 * t + 1] = x / y + x % y;
    out[4 * t + 2] = z / -12345 + z % 1001;
    out[4 * t + 3] = (s64)(w / 7 + w % 13) + (u32)x / 10;
}

// One permutation of ChaCha.
#define QUARTER(a, b, c, d)                                                                                          \
    s[a] += s[b], s[d] = __funnelshift_l(s[d] ^ s[a], s[d] ^ s[a], 16);                                              \
    s[c] += s[d], s[b] = __funnelshift_l(s[b] ^ s[c], s[b] ^ s[c], 12);                                              \
    s[a] += s[b], s[d] = __funnelshift_l(s[d] ^ s[a], s[d] ^ s[a], 8);                                               \
    s[c] += s[d], s[b] = __funnelshift_l(s[b] ^ s[c], s[b] ^ s[c], 7);

extern "C" __global__ void chacha(const u32 *in, u32 *out) {
    u32 s[16];
    for (u32 k = 0; k < 16; k++) s[k] = in[k] + (k == 12 ? threadIdx.x : 0);
    for (u32 round = 0; round < 10; round++) {
        QUARTER(0, 4, 8, 12)
        QUARTER(1, 5, 9, 13)
        QUARTER(2, 6, 10, 14)
        QUARTER(3, 7, 11, 15)
        QUARTER(0, 5, 10, 15)
        QUARTER(1, 6, 11, 12)
        QUARTER(2, 7, 8, 13)
        QUARTER(3, 4, 9, 14)
    }
    for (u32 k = 0; k < 16; k++) out[threadIdx.x * 16 + k] = s[k] + in[k] + (k == 12 ? threadIdx.x : 0);
}
