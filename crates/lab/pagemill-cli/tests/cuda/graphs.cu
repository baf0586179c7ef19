// Graphs: captured from streams that fork and join, made by hand, changed, copied, and launched again and again.
#include <cstdio>
#include <cstring>

#include "expect.cuh"

__global__ void add(int *values, int count, int by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += by;
}
__global__ void join(int *to, const int *left, const int *right, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = left[i] * 1000 + right[i];
}

const int count = 1 << 15;
const size_t bytes = count * sizeof(int);
static int *host, *left, *right, *sum;
static int calls = 0;

static float launch(cudaGraphExec_t executable, cudaStream_t stream) {
    cudaEvent_t start, stop;
    float elapsed = 0;
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&stop));
    OK(cudaEventRecord(start, stream));
    OK(cudaGraphLaunch(executable, stream));
    OK(cudaEventRecord(stop, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaEventElapsedTime(&elapsed, start, stop));
    return elapsed;
}

static bool all(int value) {
    for (int i = 0; i < count; i++)
        if (host[i] != value) return false;
    return true;
}

// Two copies and kernels beside each other, joined at the end. Nothing happens before the launch.
static void captured() {
    cudaStream_t one, two;
    cudaEvent_t fork, joined;
    OK(cudaStreamCreate(&one));
    OK(cudaStreamCreate(&two));
    OK(cudaEventCreate(&fork));
    OK(cudaEventCreate(&joined));
    memset(host, 0, bytes);
    OK(cudaStreamBeginCapture(one, cudaStreamCaptureModeRelaxed));
    OK(cudaMemsetAsync(left, 0, bytes, one));
    OK(cudaEventRecord(fork, one));
    OK(cudaStreamWaitEvent(two, fork, 0));
    OK(cudaMemcpyAsync(right, left, bytes, cudaMemcpyDeviceToDevice, two));
    add<<<count / 256, 256, 0, one>>>(left, count, 3);
    add<<<count / 256, 256, 0, two>>>(right, count, 5);
    OK(cudaEventRecord(joined, two));
    OK(cudaStreamWaitEvent(one, joined, 0));
    join<<<count / 256, 256, 0, one>>>(sum, left, right, count);
    OK(cudaMemcpyAsync(host, sum, bytes, cudaMemcpyDeviceToHost, one));
    OK(cudaLaunchHostFunc(one, [](void *calls) { ++*(int *)calls; }, &calls));
    cudaStreamCaptureStatus status;
    OK(cudaStreamIsCapturing(two, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    EXPECT(cudaStreamSynchronize(one) == cudaErrorStreamCaptureUnsupported);
    cudaGraph_t graph;
    OK(cudaStreamEndCapture(one, &graph));
    OK(cudaStreamIsCapturing(two, &status));
    EXPECT(status == cudaStreamCaptureStatusNone && all(0) && calls == 0);
    size_t nodes = 0;
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 7);
    OK(cudaGraphGetRootNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 1);
    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaGraphDestroy(graph));
    for (int i = 1; i <= 3; i++) {
        EXPECT(launch(executable, two) > 0);
        EXPECT(all(3005) && calls == i);
        memset(host, 0, bytes);
    }
    OK(cudaGraphExecDestroy(executable));

    // Work that the first stream does not wait for.
    OK(cudaStreamBeginCapture(one, cudaStreamCaptureModeRelaxed));
    OK(cudaEventRecord(fork, one));
    OK(cudaStreamWaitEvent(two, fork, 0));
    add<<<1, 32, 0, two>>>(right, 32, 1);
    EXPECT(cudaStreamEndCapture(two, &graph) == cudaErrorStreamCaptureUnmatched);
    EXPECT(cudaStreamEndCapture(one, &graph) == cudaErrorStreamCaptureUnjoined);
    EXPECT(cudaStreamEndCapture(one, &graph) == cudaErrorStreamCaptureUnmatched);
    EXPECT(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal) == cudaErrorStreamCaptureUnsupported);
    cudaGetLastError();
    OK(cudaStreamDestroy(one));
    OK(cudaStreamDestroy(two));
}

static cudaKernelNodeParams kernel(void *function, void **arguments) {
    cudaKernelNodeParams node = {};
    node.func = function;
    node.gridDim = dim3(count / 256);
    node.blockDim = dim3(256);
    node.kernelParams = arguments;
    return node;
}

static void by_hand() {
    cudaGraph_t graph, child;
    cudaGraphNode_t set, up, inner, copy, after[2];
    OK(cudaGraphCreate(&child, 0));
    int n = count, two = 2, forty = 40;
    void *by_two[] = {&left, &n, &two}, *by_forty[] = {&left, &n, &forty};
    cudaKernelNodeParams node = kernel((void *)add, by_two);
    OK(cudaGraphAddKernelNode(&up, child, nullptr, 0, &node));
    OK(cudaGraphAddKernelNode(&up, child, &up, 1, &node));

    OK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams fill = {left, 0, 0x00010002, 4, size_t(count), 1};
    OK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &fill));
    OK(cudaGraphAddChildGraphNode(&inner, graph, &set, 1, child));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, host, left, bytes, cudaMemcpyDeviceToHost));
    OK(cudaGraphAddDependencies(graph, &inner, &copy, nullptr, 1));
    cudaHostNodeParams call = {[](void *calls) { ++*(int *)calls; }, &calls};
    OK(cudaGraphAddHostNode(&after[0], graph, &copy, 1, &call));
    OK(cudaGraphAddEmptyNode(&after[1], graph, after, 1));
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(inner, &type));
    EXPECT(type == cudaGraphNodeTypeGraph);

    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    calls = 0;
    EXPECT(launch(executable, 0) > 0);
    EXPECT(all(0x00010002 + 4) && calls == 1);

    // Other parameters, in place.
    cudaGraph_t twin;
    OK(cudaGraphClone(&twin, graph));
    cudaGraphExecUpdateResultInfo info;
    OK(cudaGraphExecUpdate(executable, twin, &info));
    launch(executable, 0);
    EXPECT(all(0x00010002 + 4) && calls == 2);
    EXPECT(cudaGraphExecUpdate(executable, child, &info) == cudaErrorGraphExecUpdateFailure);

    // The node that was added last waits for the other: a kernel by itself, then a circle.
    cudaGraphNode_t first, second;
    cudaGraph_t circle;
    OK(cudaGraphCreate(&circle, 0));
    node = kernel((void *)add, by_forty);
    OK(cudaGraphAddKernelNode(&first, circle, nullptr, 0, &node));
    OK(cudaGraphAddMemcpyNode1D(&second, circle, &first, 1, host, left, bytes, cudaMemcpyDeviceToHost));
    cudaGraphExec_t other;
    OK(cudaGraphInstantiate(&other, circle, 0));
    launch(other, 0);
    EXPECT(all(0x00010002 + 44));
    node.kernelParams = by_two;
    OK(cudaGraphExecKernelNodeSetParams(other, first, &node));
    launch(other, 0);
    EXPECT(all(0x00010002 + 46));
    OK(cudaGraphAddDependencies(circle, &second, &first, nullptr, 1));
    EXPECT(cudaGraphInstantiate(&other, circle, 0) == cudaErrorInvalidValue);
    EXPECT(cudaGraphAddEmptyNode(&second, circle, &set, 1) == cudaErrorInvalidValue);
    EXPECT(cudaGraphDestroy((cudaGraph_t)left) == cudaErrorInvalidValue);
    cudaGetLastError();
}

int main() {
    OK(cudaMallocHost(&host, bytes));
    OK(cudaMalloc(&left, bytes));
    OK(cudaMalloc(&right, bytes));
    OK(cudaMalloc(&sum, bytes));
    captured();
    by_hand();
    printf("graphs, %d wrong\n", wrong);
    return wrong != 0;
}
