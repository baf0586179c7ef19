// arch: compute_75
// MD5 (RFC 1321) of every window of a file, one thread a window: what content-addressed storage computes to find
// known blocks at any position. A block stages the bytes of all its windows in shared memory first.

#define BLOCK_WORDS 16
// A message ends with one bit 1 and its length in bits as two words.
#define LENGTH_WORDS 2

__device__ __forceinline__ unsigned rotate_left(unsigned x, int by)
{
    return x << by | x >> (32 - by);
}

#define STEP(mix, a, b, c, d, word, constant, by) a = b + rotate_left(a + (mix) + (word) + constant, by)
#define F(a, b, c, d, i, constant, by) STEP((b & c) | (~b & d), a, b, c, d, block[i], constant, by)
#define G(a, b, c, d, i, constant, by) STEP((b & d) | (c & ~d), a, b, c, d, block[i], constant, by)
#define H(a, b, c, d, i, constant, by) STEP(b ^ c ^ d, a, b, c, d, block[i], constant, by)
#define I(a, b, c, d, i, constant, by) STEP(c ^ (b | ~d), a, b, c, d, block[i], constant, by)

__device__ __forceinline__ uint4 absorb(uint4 state, const unsigned *block)
{
    unsigned a = state.x, b = state.y, c = state.z, d = state.w;

    F(a, b, c, d, 0, 0xd76aa478, 7);
    F(d, a, b, c, 1, 0xe8c7b756, 12);
    F(c, d, a, b, 2, 0x242070db, 17);
    F(b, c, d, a, 3, 0xc1bdceee, 22);
    F(a, b, c, d, 4, 0xf57c0faf, 7);
    F(d, a, b, c, 5, 0x4787c62a, 12);
    F(c, d, a, b, 6, 0xa8304613, 17);
    F(b, c, d, a, 7, 0xfd469501, 22);
    F(a, b, c, d, 8, 0x698098d8, 7);
    F(d, a, b, c, 9, 0x8b44f7af, 12);
    F(c, d, a, b, 10, 0xffff5bb1, 17);
    F(b, c, d, a, 11, 0x895cd7be, 22);
    F(a, b, c, d, 12, 0x6b901122, 7);
    F(d, a, b, c, 13, 0xfd987193, 12);
    F(c, d, a, b, 14, 0xa679438e, 17);
    F(b, c, d, a, 15, 0x49b40821, 22);

    G(a, b, c, d, 1, 0xf61e2562, 5);
    G(d, a, b, c, 6, 0xc040b340, 9);
    G(c, d, a, b, 11, 0x265e5a51, 14);
    G(b, c, d, a, 0, 0xe9b6c7aa, 20);
    G(a, b, c, d, 5, 0xd62f105d, 5);
    G(d, a, b, c, 10, 0x02441453, 9);
    G(c, d, a, b, 15, 0xd8a1e681, 14);
    G(b, c, d, a, 4, 0xe7d3fbc8, 20);
    G(a, b, c, d, 9, 0x21e1cde6, 5);
    G(d, a, b, c, 14, 0xc33707d6, 9);
    G(c, d, a, b, 3, 0xf4d50d87, 14);
    G(b, c, d, a, 8, 0x455a14ed, 20);
    G(a, b, c, d, 13, 0xa9e3e905, 5);
    G(d, a, b, c, 2, 0xfcefa3f8, 9);
    G(c, d, a, b, 7, 0x676f02d9, 14);
    G(b, c, d, a, 12, 0x8d2a4c8a, 20);

    H(a, b, c, d, 5, 0xfffa3942, 4);
    H(d, a, b, c, 8, 0x8771f681, 11);
    H(c, d, a, b, 11, 0x6d9d6122, 16);
    H(b, c, d, a, 14, 0xfde5380c, 23);
    H(a, b, c, d, 1, 0xa4beea44, 4);
    H(d, a, b, c, 4, 0x4bdecfa9, 11);
    H(c, d, a, b, 7, 0xf6bb4b60, 16);
    H(b, c, d, a, 10, 0xbebfbc70, 23);
    H(a, b, c, d, 13, 0x289b7ec6, 4);
    H(d, a, b, c, 0, 0xeaa127fa, 11);
    H(c, d, a, b, 3, 0xd4ef3085, 16);
    H(b, c, d, a, 6, 0x04881d05, 23);
    H(a, b, c, d, 9, 0xd9d4d039, 4);
    H(d, a, b, c, 12, 0xe6db99e5, 11);
    H(c, d, a, b, 15, 0x1fa27cf8, 16);
    H(b, c, d, a, 2, 0xc4ac5665, 23);

    I(a, b, c, d, 0, 0xf4292244, 6);
    I(d, a, b, c, 7, 0x432aff97, 10);
    I(c, d, a, b, 14, 0xab9423a7, 15);
    I(b, c, d, a, 5, 0xfc93a039, 21);
    I(a, b, c, d, 12, 0x655b59c3, 6);
    I(d, a, b, c, 3, 0x8f0ccc92, 10);
    I(c, d, a, b, 10, 0xffeff47d, 15);
    I(b, c, d, a, 1, 0x85845dd1, 21);
    I(a, b, c, d, 8, 0x6fa87e4f, 6);
    I(d, a, b, c, 15, 0xfe2ce6e0, 10);
    I(c, d, a, b, 6, 0xa3014314, 15);
    I(b, c, d, a, 13, 0x4e0811a1, 21);
    I(a, b, c, d, 4, 0xf7537e82, 6);
    I(d, a, b, c, 11, 0xbd3af235, 10);
    I(c, d, a, b, 2, 0x2ad7d2bb, 15);
    I(b, c, d, a, 9, 0xeb86d391, 21);
    return make_uint4(state.x + a, state.y + b, state.z + c, state.w + d);
}

extern "C" __global__ void sto_digests(const unsigned *file, uint4 *digests, unsigned long long windows,
                                       unsigned window_words, unsigned step_words)
{
    extern __shared__ unsigned staged[];

    unsigned long long first_window = (unsigned long long)blockIdx.x * blockDim.x;
    unsigned long long left = windows - first_window;
    unsigned in_block = left < blockDim.x ? (unsigned)left : blockDim.x;
    unsigned staged_words = (in_block - 1) * step_words + window_words;
    for (unsigned i = threadIdx.x; i < staged_words; i += blockDim.x)
        staged[i] = file[first_window * step_words + i];
    __syncthreads();
    if (threadIdx.x >= in_block)
        return;

    const unsigned *window = staged + threadIdx.x * step_words;
    unsigned blocks = (window_words + 1 + LENGTH_WORDS + BLOCK_WORDS - 1) / BLOCK_WORDS;
    uint4 state = make_uint4(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476);
#pragma unroll 1
    for (unsigned b = 0; b < blocks; b++) {
        unsigned block[BLOCK_WORDS];
        unsigned first = b * BLOCK_WORDS;
        if (first + BLOCK_WORDS <= window_words) {
#pragma unroll
            for (unsigned i = 0; i < BLOCK_WORDS; i++)
                block[i] = window[first + i];
        } else {
#pragma unroll
            for (unsigned i = 0; i < BLOCK_WORDS; i++)
                block[i] = first + i < window_words ? window[first + i] : first + i == window_words ? 0x80 : 0;
            if (b == blocks - 1)
                block[14] = window_words * 32;
        }
        state = absorb(state, block);
    }
    digests[first_window + threadIdx.x] = state;
}
