// Kernels that launch kernels. Prints a line for everything that is not as CUDA says, then what is wrong in all.
//
//   device_launches [trap|copy]   a child that traps, or a copy of a kernel that goes astray, at the end
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "expect.cuh"

// Sorts values[first..last]: two children, each in a stream of its own.
__global__ void quicksort(unsigned *values, int first, int last, int depth) {
    if (depth >= 12 || last - first < 16) {
        for (int i = first + 1; i <= last; i++) {
            unsigned value = values[i];
            int at = i;
            for (; at > first && values[at - 1] > value; at--) values[at] = values[at - 1];
            values[at] = value;
        }
        return;
    }
    unsigned pivot = values[(first + last) / 2];
    int left = first, right = last;
    while (left <= right) {
        while (values[left] < pivot) left++;
        while (values[right] > pivot) right--;
        if (left <= right) {
            unsigned swapped = values[left];
            values[left++] = values[right];
            values[right--] = swapped;
        }
    }
    cudaStream_t stream;
    if (first < right) {
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        quicksort<<<1, 1, 0, stream>>>(values, first, right, depth + 1);
        cudaStreamDestroy(stream);
    }
    if (left < last) {
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        quicksort<<<1, 1, 0, stream>>>(values, left, last, depth + 1);
        cudaStreamDestroy(stream);
    }
}

static void sorts() {
    const int count = 3000;
    std::vector<unsigned> values(count), found(count);
    unsigned state = 12345;
    for (unsigned &value : values) value = (state = state * 1664525 + 1013904223) >> 8;
    unsigned *device;
    OK(cudaMalloc(&device, count * sizeof(unsigned)));
    OK(cudaMemcpy(device, values.data(), count * sizeof(unsigned), cudaMemcpyDefault));
    quicksort<<<1, 1>>>(device, 0, count - 1, 0);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(found.data(), device, count * sizeof(unsigned), cudaMemcpyDefault));
    std::sort(values.begin(), values.end());
    EXPECT(found == values);
    OK(cudaFree(device));
}

// Who ran, in order.
struct Log {
    int count;
    char names[63];
};

__device__ void note(Log *log, char name) { log->names[atomicAdd(&log->count, 1)] = name; }
__global__ void leaf(Log *log, char name) { note(log, name); }
__global__ void with_leaf(Log *log, char name, char below) {
    note(log, name);
    leaf<<<1, 1>>>(log, below);
}
__global__ void with_tail(Log *log, char name, char below) {
    note(log, name);
    leaf<<<1, 1, 0, cudaStreamTailLaunch>>>(log, below);
}
__global__ void ordered(Log *log) {
    leaf<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 'x');
    with_tail<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 'y', 'u');
    leaf<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 'z');
    with_leaf<<<1, 1>>>(log, 'a', 'b');
    leaf<<<1, 1>>>(log, 'c');
    with_tail<<<1, 1>>>(log, 'd', 'e');
    leaf<<<1, 1>>>(log, 'f');
    note(log, 'P');
}
__global__ void after(Log *log) { note(log, '!'); }

static void order() {
    Log *device, log;
    OK(cudaMalloc(&device, sizeof(Log)));
    OK(cudaMemset(device, 0, sizeof(Log)));
    ordered<<<1, 1>>>(device);
    after<<<1, 1>>>(device);
    OK(cudaMemcpy(&log, device, sizeof(Log), cudaMemcpyDefault));
    // One stream of a block is in order, and a grid is done when its children are; the tail runs last; the tail of what is
    // in the tail stream runs before the next in it; the host's next kernel follows all of it.
    EXPECT(!strcmp(log.names, "Pabcdefxyuz!"));
    OK(cudaFree(device));
}

// A tree: each thread of each grid launches a grid of as many threads, three levels deep; structures as arguments.
struct Node {
    int *counts;
    double weight;
    short level;
};
__global__ void tree(Node node) {
    atomicAdd(&node.counts[node.level], int(node.weight));
    if (node.level == 3) return;
    Node below = node;
    below.level++;
    tree<<<dim3(1, 2), dim3(2, 1)>>>(below);
}

// One child below the other until the device runtime refuses.
__global__ void deeper(int *out, int depth) {
    deeper<<<1, 1>>>(out, depth + 1);
    cudaError_t error = cudaGetLastError();
    if (error) out[0] = depth, out[1] = error, out[2] = cudaGetLastError();
}

// A chain in the tail stream is not deep.
__global__ void chain(int *out, int left) {
    out[0]++;
    if (left > 0) chain<<<1, 1, 0, cudaStreamTailLaunch>>>(out, left - 1);
}

__global__ void count_one(int *out) { atomicAdd(out, 1); }
__global__ void launch_many(int *out, int many) {
    for (int i = 0; i < many; i++) {
        count_one<<<1, 1, 0, cudaStreamFireAndForget>>>(out);
        cudaError_t error = cudaPeekAtLastError();
        if (error) {
            out[1] = i, out[2] = error;
            return;
        }
    }
}

static void depths() {
    int *device, found[4];
    OK(cudaMalloc(&device, sizeof(found)));
    auto fetch = [&] {
        OK(cudaMemcpy(found, device, sizeof(found), cudaMemcpyDefault));
        OK(cudaMemset(device, 0, sizeof(found)));
    };
    OK(cudaMemset(device, 0, sizeof(found)));
    tree<<<1, 4>>>(Node{device, 3.5, 0});
    fetch();
    EXPECT(found[0] == 3 * 4 && found[1] == 3 * 16 && found[2] == 3 * 64 && found[3] == 3 * 256);
    deeper<<<1, 1>>>(device, 0);
    fetch();
    EXPECT(found[0] == 24 && found[1] == cudaErrorLaunchMaxDepthExceeded && found[2] == cudaSuccess);
    chain<<<1, 1>>>(device, 1000);
    fetch();
    EXPECT(found[0] == 1001);
    size_t limit = 0;
    OK(cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount));
    EXPECT(limit == 2048);
    launch_many<<<1, 1>>>(device, 3000);
    OK(cudaDeviceSynchronize());
    fetch();
    EXPECT(found[0] == 2048 && found[1] == 2048 && found[2] == cudaErrorLaunchPendingCountExceeded);
    OK(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 3000));
    launch_many<<<1, 1>>>(device, 3000);
    fetch();
    EXPECT(found[0] == 3000 && found[2] == cudaSuccess);
    OK(cudaFree(device));
}

__global__ void add(int *values, int by) { values[blockIdx.x * blockDim.x + threadIdx.x] += by; }
__global__ void shares(int *out) {
    extern __shared__ int room[];
    room[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
}
__device__ bool same(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

// The rest of the device runtime: bits of `out` say what is as it should be.
__global__ void runtime(int *values, int *out) {
    int value = 0, right = 0;
    auto check = [&](int bit, bool holds) { right |= int(holds) << bit; };
    cudaStream_t stream;
    cudaEvent_t event;
    check(0, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    check(1, cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess);
    check(2, cudaMemsetAsync(values, 1, 64 * sizeof(int), stream) == cudaSuccess);
    check(3, cudaMemcpyAsync(values + 64, values, 32 * sizeof(int), cudaMemcpyDeviceToDevice, stream) == cudaSuccess);
    check(4, cudaEventRecord(event, stream) == cudaSuccess);
    check(5, cudaStreamWaitEvent(0, event, 0) == cudaSuccess);
    add<<<2, 64>>>(values, 1);
    shares<<<1, 32, 32 * sizeof(int)>>>(values + 128);
    cudaMemset2DAsync(values + 160, 16, 7, 8, 4);
    cudaMemcpy2DAsync(values + 176, 12, values + 160, 16, 8, 4, cudaMemcpyDeviceToDevice);
    check(6, cudaEventDestroy(event) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess);
    check(7, cudaStreamDestroy(stream) == cudaErrorInvalidResourceHandle);
    check(8, cudaGetLastError() == cudaErrorInvalidResourceHandle && cudaGetLastError() == cudaSuccess);
    add<<<1, 2000>>>(values, 100);
    check(9, cudaPeekAtLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaErrorInvalidConfiguration);
    add<<<0, 1>>>(values, 100);
    check(10, cudaGetLastError() == cudaErrorInvalidConfiguration);
    check(11, cudaStreamCreateWithFlags(&stream, 0) == cudaErrorInvalidValue && cudaGetLastError() == cudaErrorInvalidValue);
    check(12, cudaGetDevice(&value) == cudaSuccess && value == 0);
    check(13, cudaGetDeviceCount(&value) == cudaSuccess && value == 1);
    check(14, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0) == cudaSuccess && value == 32);
    size_t limit = 0;
    check(15, cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize) == cudaSuccess && limit == 8 << 20);
    check(16, same(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue"));
    check(17, same(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument"));
    int *own = nullptr;
    check(18, cudaMalloc(&own, 64) == cudaSuccess && own);
    own[15] = 3;
    check(19, cudaFree(own) == cudaSuccess && cudaFree(values) == cudaErrorInvalidValue);
    check(20, cudaRuntimeGetVersion(&value) == cudaSuccess && value >= 12000);
    *out = right;
}

static void the_rest() {
    const int count = 256;
    int *device, *flags, found[count], right = 0;
    OK(cudaMalloc(&device, sizeof(found)));
    OK(cudaMalloc(&flags, sizeof(int)));
    OK(cudaMemset(device, 0, sizeof(found)));
    runtime<<<1, 1>>>(device, flags);
    OK(cudaMemcpy(&right, flags, sizeof(int), cudaMemcpyDefault));
    if (right != (1 << 21) - 1) printf("of the runtime, %#x\n", right), wrong++;
    OK(cudaMemcpy(found, device, sizeof(found), cudaMemcpyDefault));
    for (int i = 0; i < 128; i++) EXPECT(found[i] == (i < 96 ? 0x01010101 : 0) + 1);
    for (int i = 0; i < 32; i++) EXPECT(found[128 + i] == 31 - i);
    for (int i = 0; i < 16; i++) EXPECT(found[160 + i] == (i % 4 < 2 ? 0x07070707 : 0));
    for (int i = 0; i < 12; i++) EXPECT(found[176 + i] == (i % 3 < 2 ? 0x07070707 : 0));
    OK(cudaFree(device));
    OK(cudaFree(flags));
}

__global__ void trap() { __trap(); }
__global__ void with_trap(int *out) {
    trap<<<1, 1>>>();
    count_one<<<1, 1>>>(out);
}
__global__ void with_copy(int *out) { cudaMemsetAsync(out, 0, 1 << 20); }

int main(int argc, char **argv) {
    sorts();
    order();
    depths();
    the_rest();
    if (argc > 1) {
        int *device;
        OK(cudaMalloc(&device, sizeof(int)));
        if (!strcmp(argv[1], "trap")) with_trap<<<1, 1>>>(device);
        if (!strcmp(argv[1], "copy")) with_copy<<<1, 1>>>(device);
        printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
