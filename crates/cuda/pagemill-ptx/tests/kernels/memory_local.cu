// arch: compute_75
// Local memory: arrays indexed at run time, structures on the stack, and pointers to them passed to functions.
#include "common.cuh"

extern "C" __global__ void histogram(const u8 *in, u32 *out, u32 count) {
    u32 bins[16];
    for (u32 i = 0; i < 16; i++) bins[i] = 0;
    for (u32 i = 0; i < count; i++) bins[in[threadIdx.x * count + i] & 15]++;
    for (u32 i = 0; i < 16; i++) out[threadIdx.x * 16 + i] = bins[i];
}

struct Stack {
    u64 top;
    u16 items[24];
};

__device__ __noinline__ void push(Stack *stack, u16 item) { stack->items[stack->top++] = item; }
__device__ __noinline__ u16 pop(Stack *stack) { return stack->items[--stack->top]; }

// Collatz steps pushed and popped again in reverse.
extern "C" __global__ void stack(const u32 *in, u32 *out) {
    Stack stack;
    stack.top = 0;
    u32 x = in[threadIdx.x];
    while (x != 1 && stack.top < 24) {
        push(&stack, (u16)x);
        x = x % 2 ? 3 * x + 1 : x / 2;
    }
    u32 hash = 17;
    while (stack.top != 0) hash = hash * 31 + pop(&stack);
    out[threadIdx.x] = hash;
}

extern "C" __global__ void widths(const u64 *in, u64 *out, u32 shift) {
    u64 cells[8];
    u8 *bytes = (u8 *)cells;
    for (u32 i = 0; i < 8; i++) cells[i] = in[threadIdx.x] * (i + 1);
    u64 sum = bytes[shift];
    sum += (s64)(s8)bytes[shift + 1] * 3;
    sum += *(u16 *)(bytes + 2 * shift) * 5;
    sum += (s64) * (s16 *)(bytes + 2 * shift + 2) * 7;
    sum += *(u32 *)(bytes + 4 * shift) * 11ull;
    uint4 v = *(uint4 *)(bytes + 16 * (shift & 3));
    out[threadIdx.x] = sum + v.x + 2ull * v.y + 3ull * v.z + 5ull * v.w;
}
