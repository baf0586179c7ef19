// arch: compute_75
// Calls that cannot be expanded: recursion to different depths in the lanes of a warp, two functions that call each other,
// functions by their address, virtual functions, structures by value, memory on the stack.
#include "common.cuh"

__device__ __noinline__ u32 factorial(u32 n) { return n < 2 ? 1 : n * factorial(n - 1); }

__device__ __noinline__ u32 fibonacci(u32 n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__device__ __noinline__ u32 ackermann(u32 m, u32 n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void recursion(const u32 *in, u32 *out) {
    u32 t = threadIdx.x, n = blockDim.x, x = in[t];
    out[t] = factorial(x % 13);
    out[n + t] = fibonacci(x % 12);
    out[2 * n + t] = x % 3 == 0 ? ackermann(x % 3, x % 5) : ackermann(2, x % 4) + 1000;
}

// Each knows the other by its declaration only.
__device__ u32 is_odd(u32 n, u64 *trace);
__device__ __noinline__ u32 is_even(u32 n, u64 *trace) {
    *trace = *trace * 3 + n;
    return n == 0 ? 1 : is_odd(n - 1, trace);
}
__device__ __noinline__ u32 is_odd(u32 n, u64 *trace) {
    *trace = *trace * 5 + n;
    return n == 0 ? 0 : is_even(n - 1, trace);
}

extern "C" __global__ void mutual(const u32 *in, u32 *out, u64 *traces) {
    u32 t = threadIdx.x;
    u64 trace = 1;
    if (t % 4 != 3) out[t] = is_even(in[t] % 20, &trace);
    traces[t] = trace;
}

// A structure by value down and up, and an array in every frame.
struct Walk {
    u64 sum;
    u32 steps;
    unsigned char path[9];
    double weight;
};

__device__ __noinline__ Walk walk(Walk so_far, u32 x, u32 depth) {
    u32 digits[4];
    for (u32 i = 0; i < 4; i++) digits[i] = (x >> (4 * i)) % 10;
    if (depth < 9) so_far.path[depth] = (unsigned char)digits[depth % 4];
    so_far.sum += digits[(depth + x) % 4] * (depth + 1);
    so_far.steps++;
    so_far.weight = so_far.weight * 0.5 + digits[0];
    if (x % 7 == 0 || depth == 8) return so_far;
    Walk deeper = walk(so_far, x / 3 + digits[1], depth + 1);
    deeper.sum += digits[depth % 4];
    return deeper;
}

extern "C" __global__ void structures(const u32 *in, u64 *out) {
    u32 t = threadIdx.x;
    Walk start = {};
    Walk end = walk(start, in[t], 0);
    u64 path = 0;
    for (u32 i = 0; i < 9; i++) path = path * 10 + end.path[i];
    out[4 * t] = end.sum;
    out[4 * t + 1] = end.steps;
    out[4 * t + 2] = path;
    out[4 * t + 3] = (u64)__double_as_longlong(end.weight);
}

// Functions by their address: a table in memory, a pointer that each lane chooses, one that the host copies.
typedef u32 (*Operation)(u32, u32);
__device__ u32 add(u32 a, u32 b) { return a + b; }
__device__ u32 subtract(u32 a, u32 b) { return a - b; }
__device__ u32 multiply(u32 a, u32 b) { return a * b; }
__device__ u32 power(u32 a, u32 b) { return b == 0 ? 1 : a * power(a, b - 1); }
__device__ Operation operations[4] = {add, subtract, multiply, power};
__constant__ Operation favorite = subtract;
// The same address taken, another signature: no call here reaches it.
typedef float (*Other)(float);
__device__ float half_of(float x) { return x / 2; }
__device__ Other other = half_of;

__device__ __noinline__ u32 twice(Operation operation, u32 a, u32 b) { return operation(operation(a, b), b); }

extern "C" __global__ void pointers(const u32 *in, u32 *out, u32 by_lane) {
    u32 t = threadIdx.x, n = blockDim.x, x = in[t];
    Operation operation = operations[by_lane ? x % 4 : 1];
    out[t] = operation(x, t % 8);
    out[n + t] = twice(t % 2 ? add : multiply, x, 3);
    out[2 * n + t] = favorite(x, t);
    out[3 * n + t] = (t % 3 == 0 ? other(8.0f) : 1.0f) == 4.0f;
}

extern "C" __global__ void bad_pointer(u32 *out, u64 address) {
    Operation operation = (Operation)address;
    if (threadIdx.x == 7) out[0] = operation(1, 2);
}

// Virtual functions: objects in local memory, chosen by lane.
struct Shape {
    u32 scale;
    __device__ Shape(u32 scale) : scale(scale) {}
    __device__ virtual u32 area() const = 0;
    __device__ virtual u32 corners() const { return 0; }
};
struct Circle : Shape {
    u32 radius;
    __device__ Circle(u32 r) : Shape(3), radius(r) {}
    __device__ u32 area() const override { return scale * radius * radius; }
};
struct Box : Shape {
    u32 width, height;
    __device__ Box(u32 w, u32 h) : Shape(1), width(w), height(h) {}
    __device__ u32 area() const override { return width * height * scale; }
    __device__ u32 corners() const override { return 4; }
};
struct Frame : Box {
    const Shape *inside;
    __device__ Frame(u32 w, u32 h, const Shape *inside) : Box(w, h), inside(inside) {}
    __device__ u32 area() const override { return Box::area() - inside->area(); }
    __device__ u32 corners() const override { return 4 + inside->corners(); }
};

extern "C" __global__ void virtuals(const u32 *in, u32 *out) {
    u32 t = threadIdx.x, n = blockDim.x, x = in[t] % 100;
    Circle circle(x);
    Box box(x + 1, t);
    Frame frame(2 * x + 50, 3 * t + 70, t % 2 ? (const Shape *)&circle : (const Shape *)&box);
    const Shape *shapes[3] = {&circle, &box, &frame};
    const Shape *shape = shapes[in[t] % 3];
    out[t] = shape->area();
    out[n + t] = shape->corners();
}

// Lanes of different depth meet behind their calls: a shuffle among all, and a barrier of the block, inside and behind.
__device__ __noinline__ u32 deep_sum(u32 value, u32 depth, u32 *tile) {
    if (depth == 0) {
        __syncthreads();
        return tile[(threadIdx.x + 1) % blockDim.x] + __shfl_xor_sync(~0u, value, 1);
    }
    return deep_sum(value * 3 + depth, depth - 1, tile) + depth;
}

extern "C" __global__ void meetings(const u32 *in, u32 *out, u32 depth) {
    __shared__ u32 tile[128];
    u32 t = threadIdx.x;
    tile[t] = in[t];
    u32 own = fibonacci(in[t] % 7);
    out[t] = deep_sum(own, depth, tile) + __ballot_sync(~0u, own % 2);
}

// Memory on the stack, of a size known at run time, in every frame.
__device__ __noinline__ u32 reversed(const u32 *values, u32 count, u32 depth) {
    u32 *copy = (u32 *)__builtin_alloca(count * sizeof(u32));
    for (u32 i = 0; i < count; i++) copy[i] = values[count - 1 - i] + depth;
    u32 sum = copy[0];
    if (count > 1) sum = sum * 31 + reversed(copy, count - 1, depth + 1);
    for (u32 i = 0; i < count; i++) sum = sum * 7 + copy[i];
    return sum;
}

extern "C" __global__ void stack_memory(const u32 *in, u32 *out) {
    u32 t = threadIdx.x;
    out[t] = reversed(in + t, t % 6 + 1, 0);
}

extern "C" __global__ void deep(u32 *out, u32 n) {
    u64 trace = 0;
    out[threadIdx.x] = is_even(n + threadIdx.x, &trace);
}
