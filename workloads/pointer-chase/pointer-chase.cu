// arch: compute_75
// One thread follows a chain of pointers: each load needs the one before.

extern "C" __global__ void pointer_chase(const unsigned long long *start, unsigned hops, unsigned long long *last)
{
    unsigned long long at = (unsigned long long)start;
#pragma unroll 1
    for (unsigned hop = 0; hop < hops; hop += 32) {
#pragma unroll
        for (int step = 0; step < 32; step++)
            at = *(const unsigned long long *)at;
    }
    *last = at;
}
