// arch: compute_75
// Block stride: every block reads one contiguous chunk of the data, so that resident blocks are far apart
// (C. Garg, "Improving GPU Memory Oversubscription Performance", NVIDIA 2021).
//
// A chunk is one element longer than an even share. So chunks do not start at multiples of 128 bytes, and a warp
// reads parts of two lines; the published kernels do the same.

using Index = unsigned long long;

__device__ Index chunk_of(Index elements)
{
    return (elements + gridDim.x - 1) / gridDim.x + 1;
}

extern "C" __global__ void uvm_block_stride(float *data, Index elements)
{
    Index chunk = chunk_of(elements);
    Index start = chunk * blockIdx.x;
    Index end = min(start + chunk, elements);
    float sum = 0;
#pragma unroll 1
    for (Index i = start + threadIdx.x; i < end; i += blockDim.x)
        sum += data[i];
    if (threadIdx.x == 0)
        data[0] = sum;
}

extern "C" __global__ void uvm_block_stride_lock_step(float *data, Index elements)
{
    Index chunk = chunk_of(elements);
    Index start = chunk * blockIdx.x;
    Index end = min(start + chunk, elements);
    float sum = 0;
    // The bound is that of the block's first thread: all threads of a block meet at every barrier.
#pragma unroll 1
    for (Index first = start; first < end; first += blockDim.x) {
        if (first + threadIdx.x < end)
            sum += data[first + threadIdx.x];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        data[0] = sum;
}
