// arch: compute_75
// Reads of a long array of 4-byte words, by requests of different sizes; each thread writes the sum of what it read.

// Each thread reads a line of 128 bytes of its own, word by word, then the one a grid further.
extern "C" __global__ void read_strided(const unsigned *words, size_t lines, unsigned *sums)
{
    size_t thread = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    unsigned sum = 0;
    for (size_t line = thread; line < lines; line += gridDim.x * (size_t)blockDim.x) {
#pragma unroll 1
        for (unsigned word = 0; word < 32; ++word)
            sum += words[line * 32 + word];
    }
    sums[thread] = sum;
}

// Each warp reads 32 words in a row, `offset` words behind a line's start.
extern "C" __global__ void read_merged(const unsigned *words, size_t lines, unsigned *sums, size_t offset)
{
    size_t thread = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    unsigned sum = 0;
#pragma unroll 4
    for (size_t word = thread; word < lines * 32; word += gridDim.x * (size_t)blockDim.x)
        sum += words[word + offset];
    sums[thread] = sum;
}
