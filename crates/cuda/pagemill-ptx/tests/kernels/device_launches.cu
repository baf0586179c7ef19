// arch: compute_75
// nvcc: -rdc=true
// Calls of the device runtime: launches with arguments of every size from some lanes of a warp, the tail stream, copies and
// fills, and what is refused.
#include "common.cuh"

struct Parts {
    double weight;
    short step;
    char tag[5];
};

extern "C" __global__ void child(unsigned *out, Parts parts, unsigned short half) { out[0] = parts.step + half; }

// Lanes 1, 4, 7 and so on launch, each with arguments of its own.
extern "C" __global__ void parents(unsigned *out) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t % 3 != 1) return;
    Parts parts = {t * 0.5, short(t), {'a', 'b', 'c', 'd', char(t)}};
    child<<<dim3(t + 1, 2), dim3(3, 1, t % 5 + 1), 4 * t, t % 2 ? cudaStreamTailLaunch : cudaStreamFireAndForget>>>(
        out + t, parts, (unsigned short)(1000 + t));
}

extern "C" __global__ void moves(unsigned *out) {
    unsigned t = threadIdx.x;
    cudaMemcpyAsync(out + t, out + 64 + t, 4 + t, cudaMemcpyDeviceToDevice);
    cudaMemset2DAsync(out + 100 + t, 16, t, 3, 2);
}

// Codes of refused calls, a row of 4 for each thread; each thread has its own last error.
extern "C" __global__ void refused(unsigned *out) {
    unsigned t = threadIdx.x;
    if (t % 2) child<<<1, 1025>>>(out, Parts(), 0);
    out[4 * t] = cudaPeekAtLastError();
    out[4 * t + 1] = cudaStreamDestroy((cudaStream_t)(0x77ull + t));
    out[4 * t + 2] = cudaGetLastError();
    out[4 * t + 3] = cudaGetLastError();
}
