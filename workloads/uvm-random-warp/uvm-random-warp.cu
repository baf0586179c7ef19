// arch: compute_75
// Random per warp: in every round a warp picks a page at random and reads 128 adjacent bytes somewhere in it
// (C. Garg, "Improving GPU Memory Oversubscription Performance", NVIDIA 2021).
//
// All lanes of a warp draw the same numbers, which saves sending those of one lane to the others.

using Index = unsigned long long;

constexpr Index WARP_LANES = 32;

// The generator of the published kernel: x' = (1103515245 x + 12345) mod 2^31.
__device__ Index next_random(Index state)
{
    return (state * 1103515245 + 12345) & 0x7fffffff;
}

// Starts from the seed and the number of the warp's first thread, then moved on by some rounds in one step: k applications of the
// generator are `multiplier * x + increment` too. So a long run can be cut into launches that read what one would.
__device__ Index first_state(Index seed, Index multiplier, Index increment)
{
    Index thread = Index(blockIdx.x) * blockDim.x + threadIdx.x;
    Index state = next_random(seed + thread / WARP_LANES * WARP_LANES);
    return (state * multiplier + increment) & 0x7fffffff;
}

// First element that a warp reads in a round. Reads that would cross into the next page are left out; any other start
// in the page is as likely, so that most reads touch two lines of 128 bytes.
__device__ Index first_element(Index state, Index pages, Index page_elements)
{
    return state % pages * page_elements + state % (page_elements - WARP_LANES);
}

extern "C" __global__ void uvm_random_warp(float *data, Index pages, Index page_elements, Index rounds,
                                           Index seed, Index multiplier, Index increment)
{
    Index state = first_state(seed, multiplier, increment);
    float sum = 0;
#pragma unroll 1
    for (Index round = 0; round < rounds; round++) {
        state = next_random(state);
        sum += data[first_element(state, pages, page_elements) + threadIdx.x % WARP_LANES];
    }
    if (threadIdx.x == 0)
        data[0] = sum;
}

extern "C" __global__ void uvm_random_warp_lock_step(float *data, Index pages, Index page_elements, Index rounds,
                                                     Index seed, Index multiplier, Index increment)
{
    Index state = first_state(seed, multiplier, increment);
    float sum = 0;
#pragma unroll 1
    for (Index round = 0; round < rounds; round++) {
        state = next_random(state);
        sum += data[first_element(state, pages, page_elements) + threadIdx.x % WARP_LANES];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        data[0] = sum;
}
