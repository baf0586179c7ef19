// Nodes of graphs: what they do is read back, changed by type or by one function, switched off, and found in a copy.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "expect.cuh"

__global__ void scale(int *values, int count, int by, short plus) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = values[i] * by + plus;
}
__device__ int offsets[8];
__global__ void shift(int *values) { values[threadIdx.x] += offsets[threadIdx.x % 8]; }

const int count = 256;
const size_t bytes = count * sizeof(int);
static int *device, host[count];

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

static cudaKernelNodeParams kernel(int *by, short *plus) {
    static int *values = device;
    static int number = count;
    static void *arguments[4];
    arguments[0] = &values, arguments[1] = &number, arguments[2] = by, arguments[3] = plus;
    cudaKernelNodeParams parameters = {};
    parameters.func = (void *)scale;
    parameters.gridDim = dim3(2), parameters.blockDim = dim3(128);
    parameters.kernelParams = arguments;
    return parameters;
}

// A fill and a kernel; what was given is what is read, and what is read can be given again.
static void kernels_and_fills() {
    cudaGraph_t graph, copy;
    cudaGraphNode_t fill, node, found, first;
    int by = 3;
    short plus = 4;
    OK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams set = {};
    set.dst = device, set.elementSize = 4, set.width = count, set.height = 1, set.value = 7;
    OK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &set));
    cudaKernelNodeParams given = kernel(&by, &plus), read = {};
    OK(cudaGraphAddKernelNode(&node, graph, &fill, 1, &given));
    by = 100;  // the node has a copy
    OK(cudaGraphKernelNodeGetParams(node, &read));
    EXPECT(read.func == (void *)scale && read.gridDim.x == 2 && read.blockDim.x == 128 && read.sharedMemBytes == 0);
    EXPECT(*(int **)read.kernelParams[0] == device && *(int *)read.kernelParams[1] == count);
    EXPECT(*(int *)read.kernelParams[2] == 3 && *(short *)read.kernelParams[3] == 4);
    EXPECT(cudaGraphKernelNodeGetParams(fill, &read) == cudaErrorInvalidValue);
    cudaMemsetParams filled = {};
    OK(cudaGraphMemsetNodeGetParams(fill, &filled));
    EXPECT(filled.dst == device && filled.elementSize == 4 && filled.width == count && filled.height == 1 && filled.value == 7);

    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    launch(executable);
    EXPECT(all(7 * 3 + 4));

    // As llama.cpp and others do: read, change one argument, give it back.
    void **before = read.kernelParams;
    OK(cudaGraphKernelNodeGetParams(node, &read));
    EXPECT(read.kernelParams == before && *(int *)before[2] == 3);
    int other = 5;
    void *changed[4] = {read.kernelParams[0], read.kernelParams[1], &other, read.kernelParams[3]};
    read.kernelParams = changed;
    OK(cudaGraphExecKernelNodeSetParams(executable, node, &read));
    launch(executable);
    EXPECT(all(7 * 5 + 4));

    cudaGraphNodeParams any = {};
    any.type = cudaGraphNodeTypeMemset;
    any.memset.dst = device, any.memset.elementSize = 4, any.memset.width = count, any.memset.height = 1, any.memset.value = 9;
    OK(cudaGraphExecNodeSetParams(executable, fill, &any));
    launch(executable);
    EXPECT(all(9 * 5 + 4));
    EXPECT(cudaGraphExecNodeSetParams(executable, node, &any) == cudaErrorInvalidValue);
    OK(cudaGraphNodeSetParams(fill, &any));
    OK(cudaGraphMemsetNodeGetParams(fill, &filled));
    EXPECT(filled.value == 9);

    unsigned enabled = 0;
    OK(cudaGraphNodeGetEnabled(executable, node, &enabled));
    EXPECT(enabled == 1);
    OK(cudaGraphNodeSetEnabled(executable, node, 0));
    OK(cudaGraphNodeGetEnabled(executable, node, &enabled));
    EXPECT(enabled == 0);
    launch(executable);
    EXPECT(all(9));
    OK(cudaGraphNodeSetEnabled(executable, node, 1));
    launch(executable);
    EXPECT(all(9 * 5 + 4));

    OK(cudaGraphClone(&copy, graph));
    OK(cudaGraphNodeFindInClone(&found, node, copy));
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(found, &type));
    EXPECT(found != node && type == cudaGraphNodeTypeKernel);
    size_t one = 1;
    OK(cudaGraphGetRootNodes(copy, &first, &one));
    OK(cudaGraphNodeFindInClone(&found, fill, copy));
    EXPECT(found == first);
    EXPECT(cudaGraphNodeFindInClone(&found, fill, graph) == cudaErrorInvalidValue);
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(copy));
    OK(cudaGraphDestroy(graph));
}

__global__ void meet(int *values) {
    values[blockIdx.x] = 1;
    cooperative_groups::this_grid().sync();
    values[8 + blockIdx.x] = values[(blockIdx.x + 1) % 8];
}

// Attributes are not parameters: what changes these leaves those as they are.
static void attributes() {
    cudaGraph_t graph;
    cudaGraphNode_t node, other;
    cudaKernelNodeParams parameters = {};
    void *arguments[] = {&device};
    parameters.func = (void *)meet;
    parameters.gridDim = dim3(8), parameters.blockDim = dim3(1);
    parameters.kernelParams = arguments;
    OK(cudaMemset(device, 0, bytes));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
    OK(cudaGraphAddKernelNode(&other, graph, &node, 1, &parameters));
    cudaKernelNodeAttrValue value = {}, read = {};
    OK(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeCooperative, &read));
    EXPECT(read.cooperative == 0);
    value.cooperative = 1;
    OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeCooperative, &value));
    OK(cudaGraphKernelNodeSetParams(node, &parameters));
    OK(cudaGraphKernelNodeCopyAttributes(other, node));
    OK(cudaGraphKernelNodeGetAttribute(other, cudaLaunchAttributeCooperative, &read));
    EXPECT(read.cooperative == 1);
    parameters.gridDim = dim3(1 << 20);
    OK(cudaGraphKernelNodeSetParams(other, &parameters));
    EXPECT(cudaGraphKernelNodeSetAttribute(other, cudaLaunchAttributeCooperative, &value) == cudaErrorCooperativeLaunchTooLarge);
    OK(cudaGraphDestroyNode(other));
    EXPECT(cudaGraphKernelNodeGetAttribute(other, cudaLaunchAttributeCooperative, &read) == cudaErrorInvalidValue);
    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    launch(executable);
    for (int i = 0; i < 8; i++) EXPECT(host[i] == 1 && host[8 + i] == 1);
}

static int calls = 0;
static void call(void *by) { calls += *(int *)by; }

// Host functions, events, variables of the GPU, and the drawing of it all.
static void hosts_events_and_variables(const char *path) {
    cudaGraph_t graph;
    cudaGraphNode_t to, from, node, hosted, recorded, waited;
    int values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, others[4] = {50, 60, 70, 80}, back[2] = {}, by = 3;
    OK(cudaMemset(device, 0, bytes));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemcpyNodeToSymbol(&to, graph, nullptr, 0, offsets, values, sizeof values, 0, cudaMemcpyHostToDevice));
    cudaKernelNodeParams parameters = {};
    void *arguments[] = {&device};
    parameters.func = (void *)shift;
    parameters.gridDim = dim3(1), parameters.blockDim = dim3(count);
    parameters.kernelParams = arguments;
    OK(cudaGraphAddKernelNode(&node, graph, &to, 1, &parameters));
    OK(cudaGraphAddMemcpyNodeFromSymbol(&from, graph, &node, 1, back, offsets, sizeof back, 4, cudaMemcpyDeviceToHost));
    cudaHostNodeParams host_node = {call, &by}, host_read = {};
    OK(cudaGraphAddHostNode(&hosted, graph, &from, 1, &host_node));
    OK(cudaGraphHostNodeGetParams(hosted, &host_read));
    EXPECT(host_read.fn == call && host_read.userData == &by);
    cudaEvent_t early, late, read;
    OK(cudaEventCreate(&early));
    OK(cudaEventCreate(&late));
    OK(cudaGraphAddEventRecordNode(&recorded, graph, &hosted, 1, early));
    OK(cudaGraphAddEventWaitNode(&waited, graph, nullptr, 0, early));
    OK(cudaGraphEventRecordNodeGetEvent(recorded, &read));
    EXPECT(read == early);
    OK(cudaGraphEventRecordNodeSetEvent(recorded, late));
    OK(cudaGraphEventRecordNodeGetEvent(recorded, &read));
    EXPECT(read == late);
    OK(cudaGraphEventWaitNodeGetEvent(waited, &read));
    EXPECT(read == early);
    EXPECT(cudaGraphEventWaitNodeGetEvent(recorded, &read) == cudaErrorInvalidValue);
    OK(cudaGraphDebugDotPrint(graph, path, 0));

    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    launch(executable);
    for (int i = 0; i < count; i++) EXPECT(host[i] == values[i % 8]);
    EXPECT(back[0] == 2 && back[1] == 3 && calls == 3);
    OK(cudaGraphExecMemcpyNodeSetParamsToSymbol(executable, to, offsets, others, sizeof others, 16, cudaMemcpyHostToDevice));
    OK(cudaGraphExecMemcpyNodeSetParamsFromSymbol(executable, from, back, offsets, sizeof back, 16, cudaMemcpyDeviceToHost));
    EXPECT(cudaGraphExecMemcpyNodeSetParamsToSymbol(executable, to, offsets, others, sizeof others, 20, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    launch(executable);
    for (int i = 0; i < count; i++) EXPECT(host[i] == values[i % 8] + (i % 8 < 4 ? values[i % 8] : others[i % 8 - 4]));
    EXPECT(back[0] == 50 && back[1] == 60 && calls == 6);

    char text[4096] = {};
    FILE *drawing = fopen(path, "r");
    EXPECT(drawing && fread(text, 1, sizeof text - 1, drawing) > 0);
    if (drawing) fclose(drawing);
    EXPECT(!strncmp(text, "digraph", 7) && strstr(text, "->") && strstr(text, "kernel") && strstr(text, "host"));
    remove(path);
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
    char name[64];
    snprintf(name, sizeof name, "pagemill-graph-%p.dot", (void *)&name);
    std::string path = std::filesystem::temp_directory_path() / name;
    OK(cudaMalloc(&device, bytes));
    kernels_and_fills();
    attributes();
    hosts_events_and_variables(path.c_str());
    captured_into_a_graph();
    printf("graph_parameters: %d wrong\n", wrong);
    return wrong != 0;
}
