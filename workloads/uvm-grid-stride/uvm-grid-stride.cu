// arch: compute_75
// Grid stride: in every round all threads of the grid read adjacent elements, then step over them
// (C. Garg, "Improving GPU Memory Oversubscription Performance", NVIDIA 2021).
//
// Threads that run free may be rounds apart; in lock step the warps of a block are in the same round.

using Index = unsigned long long;


extern "C" __global__ void uvm_grid_stride(float *data, Index elements)
{
    Index stride = Index(gridDim.x) * blockDim.x;
    float sum = 0;
#pragma unroll 1
    for (Index first = Index(blockIdx.x) * blockDim.x; first + threadIdx.x < elements; first += stride)
        sum += data[first + threadIdx.x];
    if (threadIdx.x == 0)
        data[0] = sum;
}

extern "C" __global__ void uvm_grid_stride_lock_step(float *data, Index elements)
{
    Index stride = Index(gridDim.x) * blockDim.x;
    float sum = 0;
    // The bound is that of the block's first thread: all threads of a block meet at every barrier.
#pragma unroll 1
    for (Index first = Index(blockIdx.x) * blockDim.x; first < elements; first += stride) {
        if (first + threadIdx.x < elements)
            sum += data[first + threadIdx.x];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        data[0] = sum;
}
