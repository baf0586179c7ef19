// arch: compute_75
// Reads one word of each 4 KiB page of an array, once: pages in order, or in an order that looks random.

#define PAGE_WORDS 1024

// The first word of each 512th page is the page's number, those of the others are zero.
static __device__ void read_page(const unsigned *words, size_t page, unsigned *wrong)
{
    unsigned expected = page % 512 == 0 ? (unsigned)page : 0;
    if (words[page * PAGE_WORDS] != expected)
        atomicAdd(wrong, 1);
}

extern "C" __global__ void touch_in_order(const unsigned *words, unsigned bits, unsigned *wrong)
{
    size_t page = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (page < (size_t)1 << bits)
        read_page(words, page, wrong);
}

// A permutation of numbers below 2^bits: each step can be undone.
extern "C" __global__ void touch_scattered(const unsigned *words, unsigned bits, unsigned *wrong)
{
    size_t thread = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (thread >= (size_t)1 << bits)
        return;
    unsigned mask = (1u << bits) - 1, half = (bits + 1) / 2;
    unsigned page = (unsigned)thread;
#pragma unroll
    for (int round = 0; round < 3; ++round) {
        page = page * 0x9e3779b1u & mask;
        page ^= page >> half;
    }
    read_page(words, page, wrong);
}
