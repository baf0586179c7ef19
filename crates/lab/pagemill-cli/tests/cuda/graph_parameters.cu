// Graphs as frameworks use them: a capture into a graph, attributes of a node, and nodes of an executable graph whose
// parameters change by the driver's functions. What else there is to read or change is refused by name.
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda.h>

#include "expect.cuh"

const int count = 256;
const size_t bytes = count * sizeof(int);
static int *device, *other, host[count];

static void launch(cudaGraphExec_t executable) {
    OK(cudaGraphLaunch(executable, 0));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

static bool all(int value) {
    for (int i = 0; i < count; i++)
        if (host[i] != value) return false;
    return true;
}

template <typename Function> static Function driver(const char *name) {
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    OK(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
    return (Function)found;
}

__global__ void meet(int *values) {
    values[blockIdx.x] = 1;
    cooperative_groups::this_grid().sync();
    values[8 + blockIdx.x] = values[(blockIdx.x + 1) % 8];
}

// Attributes are not parameters: a node that gets other parameters keeps them.
static void attributes() {
    cudaGraph_t graph;
    cudaGraphNode_t node, wide;
    cudaGraphExec_t executable;
    cudaKernelNodeParams parameters = {};
    void *arguments[] = {&other}, *now[] = {&device};
    parameters.func = (void *)meet;
    parameters.gridDim = dim3(8), parameters.blockDim = dim3(1);
    parameters.kernelParams = arguments;
    OK(cudaMemset(device, 0, bytes));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
    cudaKernelNodeAttrValue value = {};
    value.cooperative = 1;
    OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeCooperative, &value));
    OK(cudaGraphInstantiate(&executable, graph, 0));
    parameters.kernelParams = now;
    OK(cudaGraphExecKernelNodeSetParams(executable, node, &parameters));
    launch(executable);
    for (int i = 0; i < 8; i++) EXPECT(host[i] == 1 && host[8 + i] == 1);
    parameters.gridDim = dim3(1 << 20);
    OK(cudaGraphAddKernelNode(&wide, graph, nullptr, 0, &parameters));
    EXPECT(cudaGraphKernelNodeSetAttribute(wide, cudaLaunchAttributeCooperative, &value) == cudaErrorCooperativeLaunchTooLarge);
    EXPECT(cudaGraphKernelNodeGetParams(node, &parameters) == cudaErrorNotSupported);
    EXPECT(cudaGraphDestroyNode(node) == cudaErrorNotSupported);
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));
}

// A fill and a copy, as XLA makes them for buffers that lie elsewhere in the next run.
static void fills_and_copies() {
    cudaGraph_t graph;
    cudaGraphNode_t fill, copy;
    cudaGraphExec_t executable;
    cudaMemsetParams set = {};
    set.dst = other, set.elementSize = 4, set.width = count, set.height = 1, set.value = 7;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &set));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &fill, 1, device, other, bytes, cudaMemcpyDeviceToDevice));
    OK(cudaGraphInstantiate(&executable, graph, 0));
    launch(executable);
    EXPECT(all(7));

    CUDA_MEMSET_NODE_PARAMS nine = {};
    nine.dst = (CUdeviceptr)other, nine.elementSize = 4, nine.width = count, nine.height = 1, nine.value = 9;
    auto set_fill = driver<CUresult (*)(CUgraphExec, CUgraphNode, const CUDA_MEMSET_NODE_PARAMS *, CUcontext)>("cuGraphExecMemsetNodeSetParams");
    EXPECT(set_fill(executable, fill, &nine, nullptr) == CUDA_SUCCESS);
    launch(executable);
    EXPECT(all(9));
    EXPECT(set_fill(executable, copy, &nine, nullptr) == CUDA_ERROR_INVALID_VALUE);

    CUDA_MEMCPY3D half = {};
    half.srcMemoryType = half.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    half.srcDevice = (CUdeviceptr)other, half.dstDevice = (CUdeviceptr)device;
    half.WidthInBytes = bytes / 2, half.Height = half.Depth = 1;
    auto set_copy = driver<CUresult (*)(CUgraphExec, CUgraphNode, const CUDA_MEMCPY3D *, CUcontext)>("cuGraphExecMemcpyNodeSetParams");
    EXPECT(set_copy(executable, copy, &half, nullptr) == CUDA_SUCCESS);
    OK(cudaMemset(device, 0, bytes));
    launch(executable);
    EXPECT(host[count / 2 - 1] == 9 && host[count / 2] == 0);
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));
}

// A graph that the program knows need not be asked for at the end of a capture into it.
static void captured_into_a_graph() {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaStream_t stream;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(device, 1, bytes, stream));
    OK(cudaStreamEndCapture(stream, nullptr));
    OK(cudaGraphInstantiate(&executable, graph, 0));
    launch(executable);
    EXPECT(all(0x01010101));
}

int main() {
    OK(cudaMalloc(&device, bytes));
    OK(cudaMalloc(&other, bytes));
    attributes();
    fills_and_copies();
    captured_into_a_graph();
    printf("graph_parameters: %d wrong\n", wrong);
    return wrong != 0;
}
