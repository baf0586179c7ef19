// arch: compute_90a
// Hints to hardware that change no result.
#include "common.cuh"

extern "C" __global__ void hints(u32 *out) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    asm volatile("griddepcontrol.wait;");
    out[threadIdx.x] = threadIdx.x + 1;
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("setmaxnreg.inc.sync.aligned.u32 56;");
}
