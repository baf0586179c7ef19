// Calls that examples do not make. Prints a line for each that is not as CUDA says.
#include <cstdio>
#include <cstring>

#include "expect.cuh"

__device__ int counter = 5;
__global__ void raise(int by) { atomicAdd(&counter, by); }
__global__ void twice(int *values, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] *= 2;
}
__global__ void greet(int who) { printf("thread %d of kernel %d\n", threadIdx.x, who); }

struct Parts {
    char tag;
    double factor;
    int *to;
};
__global__ void by_value(Parts parts, short add) { *parts.to = int(parts.factor * 10) + parts.tag + add; }

static void device() {
    int count = 0, value = 0;
    OK(cudaGetDeviceCount(&count));
    EXPECT(count == 1);
    cudaDeviceProp prop;
    memset(&prop, 0xee, sizeof prop);
    OK(cudaGetDeviceProperties(&prop, 0));
    EXPECT(!strcmp(prop.name, "GeForce GTX 480 with unified memory"));
    EXPECT(prop.multiProcessorCount == 15 && prop.warpSize == 32 && prop.maxThreadsPerBlock == 1024);
    EXPECT(prop.sharedMemPerBlock == 48 << 10 && prop.regsPerBlock == 32768 && prop.managedMemory == 1);
    EXPECT(prop.maxThreadsPerMultiProcessor == 1536 && prop.l2CacheSize == 12 * (128 << 10));
    EXPECT(prop.maxGridSize[1] == 65535 && prop.maxThreadsDim[2] == 64 && prop.concurrentManagedAccess == 1);
    EXPECT(prop.maxBlocksPerMultiProcessor == 8 && prop.unifiedAddressing == 1 && prop.pciBusID == 0);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrClockRate, 0));
    EXPECT(value == 1400000);
    EXPECT(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)9999, 0) == cudaErrorInvalidValue);
    EXPECT(!strcmp(cudaGetErrorString(cudaGetLastError()), "invalid argument"));
    OK(cudaGetLastError());
    OK(cudaRuntimeGetVersion(&value));
    EXPECT(value >= 13000);
    int blocks = 0, grid = 0, block = 0;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, twice, 256, 0));
    EXPECT(blocks == 6);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, twice));
    EXPECT(grid % 15 == 0 && block % 32 == 0 && block > 0);
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, twice));
    EXPECT(attributes.maxThreadsPerBlock == 1024 && attributes.numRegs > 0 && attributes.sharedSizeBytes == 0);
}

static void symbols() {
    int value = 0, *at = nullptr;
    size_t bytes = 0;
    raise<<<2, 3>>>(10);
    OK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    EXPECT(value == 65);
    OK(cudaGetSymbolAddress((void **)&at, counter));
    OK(cudaGetSymbolSize(&bytes, counter));
    EXPECT(bytes == sizeof counter);
    OK(cudaMemset(at, 0, sizeof counter));
    OK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    EXPECT(value == 0);
    EXPECT(cudaMemcpyFromSymbol(&value, counter, 4, 1) == cudaErrorInvalidValue);
    cudaGetLastError();
}

static void memory() {
    int *pinned, *mapped, *async, own[100];
    cudaPointerAttributes attributes;
    OK(cudaHostAlloc(&pinned, 400, cudaHostAllocMapped));
    OK(cudaHostGetDevicePointer(&mapped, pinned, 0));
    OK(cudaHostRegister(own, sizeof own, 0));
    for (int i = 0; i < 100; i++) pinned[i] = own[i] = i;
    twice<<<1, 128>>>(mapped, 100);
    twice<<<1, 128>>>(own, 100);
    OK(cudaDeviceSynchronize());
    EXPECT(pinned[99] == 198 && own[50] == 100);
    OK(cudaPointerGetAttributes(&attributes, own));
    EXPECT(attributes.type == cudaMemoryTypeHost);
    OK(cudaHostUnregister(own));
    OK(cudaPointerGetAttributes(&attributes, own));
    EXPECT(attributes.type == cudaMemoryTypeUnregistered);
    OK(cudaMallocAsync((void **)&async, 400, 0));
    OK(cudaPointerGetAttributes(&attributes, async));
    EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.devicePointer == async);
    OK(cudaMemcpy(async, pinned, 400, cudaMemcpyDefault));
    OK(cudaMemcpy(own, async, 400, cudaMemcpyDefault));
    EXPECT(own[7] == 14);
    OK(cudaFreeAsync(async, 0));
    OK(cudaFreeHost(pinned));

    cudaPitchedPtr box;
    cudaExtent extent = make_cudaExtent(20, 3, 2);
    OK(cudaMalloc3D(&box, extent));
    OK(cudaMemset3D(box, 0, extent));
    unsigned char from[2][3][20], to[2][3][20] = {};
    for (int i = 0; i < 120; i++) (&from[0][0][0])[i] = i;
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(from, 20, 20, 3);
    copy.dstPtr = box;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    copy.srcPtr = box;
    copy.srcPos = make_cudaPos(4, 1, 1);
    copy.dstPtr = make_cudaPitchedPtr(to, 20, 20, 3);
    copy.extent = make_cudaExtent(10, 2, 1);
    copy.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&copy));
    EXPECT(to[0][0][0] == 84 && to[0][1][9] == 113 && to[0][0][10] == 0 && to[1][0][0] == 0);
    OK(cudaFree(box.ptr));
}

static void managed() {
    int *values;
    const int count = 2 << 20;
    OK(cudaMallocManaged(&values, count * sizeof(int)));
    for (int i = 0; i < count; i += 4096) values[i] = i;
    cudaMemLocation gpu = {cudaMemLocationTypeDevice, 0}, cpu = {cudaMemLocationTypeHost, 0};
    OK(cudaMemAdvise(values, count * sizeof(int), cudaMemAdviseSetPreferredLocation, gpu));
    OK(cudaMemPrefetchAsync(values, count * sizeof(int), gpu, 0, 0));
    EXPECT(values[4096] == 4096);
    twice<<<1, 256>>>(values + 8192, 1);
    OK(cudaMemPrefetchAsync(values, count * sizeof(int), cpu, 0, 0));
    OK(cudaDeviceSynchronize());
    EXPECT(values[8192] == 16384);
    // A copy within the same memory, and one to another side.
    int copied[3] = {};
    OK(cudaMemcpy(values + 1, values + 8192, 4, cudaMemcpyDefault));
    OK(cudaMemcpy(copied, values, 8, cudaMemcpyDeviceToHost));
    EXPECT(copied[0] == 0 && copied[1] == 16384 && copied[2] == 0);
    OK(cudaMemset(values, 1, 4));
    EXPECT(values[0] == 0x01010101);
    OK(cudaFree(values));
}

static int called = 0;

static void launches() {
    int *result, expected = 25 + 'a' - 3;
    OK(cudaMallocManaged(&result, sizeof(int)));
    Parts parts = {'a', 2.5, result};
    by_value<<<1, 1>>>(parts, -3);
    OK(cudaDeviceSynchronize());
    EXPECT(*result == expected);
    *result = 3;
    int count = 1;
    void *arguments[] = {&result, &count};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(32);
    OK(cudaLaunchKernelExC(&config, (const void *)twice, arguments));
    OK(cudaLaunchKernel((const void *)twice, dim3(1), dim3(32), arguments, 0, 0));
    OK(cudaDeviceSynchronize());
    EXPECT(*result == 12);
    greet<<<1, 2>>>(1);
    OK(cudaDeviceSynchronize());
    printf("after the kernels\n");
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaLaunchHostFunc(stream, [](void *data) { *(int *)data = 1; }, &called));
    OK(cudaStreamSynchronize(stream));
    EXPECT(called == 1);
    cudaEvent_t early, late;
    OK(cudaEventCreate(&early));
    OK(cudaEventCreateWithFlags(&late, cudaEventDefault));
    OK(cudaEventRecord(early, stream));
    twice<<<64, 256, 0, stream>>>(result, 0);
    OK(cudaEventRecord(late, stream));
    OK(cudaStreamWaitEvent(0, late, 0));
    OK(cudaEventQuery(late));
    float first = -1, second = -1;
    OK(cudaEventElapsedTime(&first, early, late));
    OK(cudaEventElapsedTime(&second, late, early));
    EXPECT(first > 0 && second == -first);
    OK(cudaStreamDestroy(stream));
}

int main() {
    device();
    symbols();
    memory();
    managed();
    launches();
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
