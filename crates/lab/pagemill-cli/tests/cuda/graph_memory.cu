// Memory that graphs allocate and free, by hand and from streams that are captured; what there is to ask of graphs.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

static int wrong = 0;

#define EXPECT(what)                                                                                                 \
    do {                                                                                                             \
        if (!(what)) {                                                                                               \
            wrong++;                                                                                                 \
            printf("line %d: %s\n", __LINE__, #what);                                                                \
        }                                                                                                            \
    } while (0)
#define OK(call) EXPECT((call) == cudaSuccess)

enum { N = 1000, BYTES = N * sizeof(int) };

__global__ void put(int *to, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) to[i] = value + i;
}

__global__ void add(int *to, const int *from) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) to[i] += from[i];
}

static bool all(const int *device, int factor, int offset) {
    static int host[N];
    OK(cudaMemcpy(host, device, BYTES, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        if (host[i] != factor * i + offset) return false;
    return true;
}

static unsigned long long used(cudaGraphMemAttributeType what) {
    unsigned long long bytes = ~0ull;
    OK(cudaDeviceGetGraphMemAttribute(0, what, &bytes));
    return bytes;
}

static void by_hand(cudaStream_t stream, int *result) {
    cudaGraph_t graph;
    OK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams memory = {};
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location.type = cudaMemLocationTypeDevice;
    memory.bytesize = BYTES;
    cudaGraphNode_t allocation, fill, sum, release;
    OK(cudaGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &memory));
    int *scratch = (int *)memory.dptr;
    EXPECT(scratch != nullptr);
    // Before the graph runs there is nothing at the address.
    EXPECT(cudaMemset(scratch, 0, BYTES) != cudaSuccess);
    cudaGetLastError();

    int value = 5;
    void *put_arguments[] = {&scratch, &value}, *add_arguments[] = {&result, &scratch};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void *)put, kernel.gridDim = 4, kernel.blockDim = 256, kernel.kernelParams = put_arguments;
    OK(cudaGraphAddKernelNode(&fill, graph, &allocation, 1, &kernel));
    kernel.func = (void *)add, kernel.kernelParams = add_arguments;
    OK(cudaGraphAddKernelNode(&sum, graph, &fill, 1, &kernel));
    OK(cudaGraphAddMemFreeNode(&release, graph, &sum, 1, scratch));

    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(allocation, &type));
    EXPECT(type == cudaGraphNodeTypeMemAlloc);
    OK(cudaGraphNodeGetType(release, &type));
    EXPECT(type == cudaGraphNodeTypeMemFree);

    cudaGraphNode_t from[8];
    size_t count = 8;
    OK(cudaGraphNodeGetDependencies(sum, from, nullptr, &count));
    EXPECT(count == 1 && from[0] == fill);

    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaMemset(result, 0, BYTES));
    for (int run = 1; run <= 3; run++) {
        OK(cudaGraphLaunch(executable, stream));
        OK(cudaStreamSynchronize(stream));
        EXPECT(all(result, run, 5 * run));
        EXPECT(used(cudaGraphMemAttrUsedMemCurrent) == 0);
    }
    EXPECT(used(cudaGraphMemAttrUsedMemHigh) == BYTES);
    unsigned long long none = 0;
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &none));
    EXPECT(used(cudaGraphMemAttrUsedMemHigh) == 0);
    OK(cudaDeviceGraphMemTrim(0));
}

// What a captured stream allocates outlives the launch, until the program frees it.
static void captured(cudaStream_t stream, int *result) {
    int *kept, *scratch;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync((void **)&kept, BYTES, stream));
    OK(cudaMallocAsync((void **)&scratch, BYTES, stream));
    put<<<4, 256, 0, stream>>>(kept, 1);
    put<<<4, 256, 0, stream>>>(scratch, 2);
    add<<<4, 256, 0, stream>>>(kept, scratch);
    OK(cudaFreeAsync(scratch, stream));
    cudaStreamCaptureStatus status;
    cudaGraph_t noted, graph;
    const cudaGraphNode_t *last;
    size_t count;
    OK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &noted, &last, nullptr, &count));
    EXPECT(status == cudaStreamCaptureStatusActive && count == 1);
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(last[0], &type));
    EXPECT(type == cudaGraphNodeTypeMemFree);
    OK(cudaStreamEndCapture(stream, &graph));
    EXPECT(graph == noted);
    OK(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, nullptr, nullptr, nullptr));
    EXPECT(status == cudaStreamCaptureStatusNone);

    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaGraphLaunch(executable, stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT(all(kept, 2, 3));
    EXPECT(used(cudaGraphMemAttrUsedMemCurrent) == BYTES);
    OK(cudaFree(kept));
    EXPECT(used(cudaGraphMemAttrUsedMemCurrent) == 0);
    EXPECT(cudaMemcpy(result, kept, BYTES, cudaMemcpyDeviceToDevice) != cudaSuccess);
    cudaGetLastError();
    OK(cudaGraphLaunch(executable, stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT(all(kept, 2, 3));
    OK(cudaFreeAsync(kept, stream));
}

// Graphs keep a thing of the program alive, and what is made of them does too.
static void kept_alive() {
    static int gone = 0;
    cudaUserObject_t object;
    OK(cudaUserObjectCreate(&object, &gone, [](void *gone) { ++*(int *)gone; }, 1, cudaUserObjectNoDestructorSync));
    cudaGraph_t graph, copy;
    cudaGraphExec_t executable;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphRetainUserObject(graph, object, 2, 0));
    OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    EXPECT(gone == 0);
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaGraphClone(&copy, graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(copy));
    EXPECT(gone == 0);
    OK(cudaGraphExecDestroy(executable));
    EXPECT(gone == 1);
    EXPECT(cudaUserObjectRelease(object, 1) == cudaErrorInvalidValue);
    cudaGetLastError();
}

int main() {
    int *result;
    cudaStream_t stream;
    OK(cudaMalloc(&result, BYTES));
    OK(cudaStreamCreate(&stream));
    by_hand(stream, result);
    captured(stream, result);
    kept_alive();
    printf("memory of graphs, %d wrong\n", wrong);
    return wrong != 0;
}
