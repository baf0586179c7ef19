// Conditional nodes of graphs. Prints a line for everything that is not as CUDA says, then what is wrong in all.
#include <cstdio>
#include <cstring>

#include "expect.cuh"

__global__ void add(int *value, int by) { *value += by; }
__global__ void set(cudaGraphConditionalHandle handle, unsigned value) { cudaGraphSetConditional(handle, value); }
__global__ void set_from(cudaGraphConditionalHandle handle, const int *value) { cudaGraphSetConditional(handle, *value); }
// One step of Collatz' sequence.
__global__ void collatz(int *value, int *steps, cudaGraphConditionalHandle handle) {
    *value = *value % 2 ? 3 * *value + 1 : *value / 2;
    ++*steps;
    cudaGraphSetConditional(handle, *value != 1);
}

static cudaGraphNode_t kernel(cudaGraph_t graph, cudaGraphNode_t after, void *function, void **arguments) {
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeKernel;
    params.kernel.func = function;
    params.kernel.gridDim = params.kernel.blockDim = dim3(1);
    params.kernel.kernelParams = arguments;
    cudaGraphNode_t node = nullptr;
    OK(cudaGraphAddNode(&node, graph, after ? &after : nullptr, nullptr, after ? 1 : 0, &params));
    return node;
}

static cudaGraphNode_t conditional(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle handle,
                                   cudaGraphConditionalNodeType type, unsigned size, cudaGraph_t *bodies) {
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = size;
    cudaGraphNode_t node = nullptr;
    OK(cudaGraphAddNode(&node, graph, after ? &after : nullptr, nullptr, after ? 1 : 0, &params));
    for (unsigned i = 0; i < size; i++) bodies[i] = params.conditional.phGraph_out[i];
    return node;
}

static int fetch(int *device) {
    int value = 0;
    OK(cudaMemcpy(&value, device, sizeof(int), cudaMemcpyDefault));
    return value;
}

static void store(int *device, int value) { OK(cudaMemcpy(device, &value, sizeof(int), cudaMemcpyDefault)); }

// IF with ELSE and SWITCH, by a value in memory; launched, changed and launched again.
static void branches(int *device) {
    cudaGraph_t graph, bodies[4];
    cudaGraphConditionalHandle which, chosen;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&which, graph));
    OK(cudaGraphConditionalHandleCreate(&chosen, graph, 2, cudaGraphCondAssignDefault));
    int *out = device + 1, amounts[] = {10, 20, 100, 200, 300}, last = 1000;
    void *read[] = {&which, &device};
    cudaGraphNode_t node = kernel(graph, nullptr, (void *)set_from, read);
    node = conditional(graph, node, which, cudaGraphCondTypeIf, 2, bodies);
    for (int i = 0; i < 2; i++) {
        void *arguments[] = {&out, &amounts[i]};
        kernel(bodies[i], nullptr, (void *)add, arguments);
    }
    // nothing sets this one: its default chooses.
    node = conditional(graph, node, chosen, cudaGraphCondTypeSwitch, 3, bodies);
    for (int i = 0; i < 3; i++) {
        void *arguments[] = {&out, &amounts[2 + i]};
        kernel(bodies[i], nullptr, (void *)add, arguments);
    }
    void *arguments[] = {&out, &last};
    kernel(graph, node, (void *)add, arguments);
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(node, &type));
    EXPECT(type == cudaGraphNodeTypeConditional);
    cudaGraph_t copy;
    OK(cudaGraphClone(&copy, graph));
    for (cudaGraph_t each : {graph, copy}) {
        cudaGraphExec_t executable;
        OK(cudaGraphInstantiate(&executable, each, 0));
        for (int value : {1, 0, 7}) {
            store(device, value);
            store(out, 0);
            OK(cudaGraphLaunch(executable, 0));
            EXPECT(fetch(out) == (value ? 10 : 20) + 300 + 1000);
        }
        OK(cudaGraphExecDestroy(executable));
        OK(cudaGraphDestroy(each));
    }
}

// WHILE with a body that a stream wrote, in an IF.
static void loop(int *device) {
    cudaGraph_t graph, inner, body;
    cudaGraphConditionalHandle outer, handle;
    int *steps = device + 1, *after = device + 2, one = 1;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&outer, graph, 1, cudaGraphCondAssignDefault));
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNode_t node = conditional(graph, nullptr, outer, cudaGraphCondTypeIf, 1, &inner);
    conditional(inner, nullptr, handle, cudaGraphCondTypeWhile, 1, &body);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    collatz<<<1, 1, 0, stream>>>(device, steps, handle);
    cudaGraph_t ended;
    OK(cudaStreamEndCapture(stream, &ended));
    EXPECT(ended == body);
    void *arguments[] = {&after, &one};
    kernel(graph, node, (void *)add, arguments);
    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaMemset(device, 0, 3 * sizeof(int)));
    for (int start : {27, 6, 97}) {
        store(device, start);
        store(steps, 0);
        OK(cudaGraphLaunch(executable, stream));
        OK(cudaStreamSynchronize(stream));
        int wanted = 0;
        for (long value = start; value != 1; wanted++) value = value % 2 ? 3 * value + 1 : value / 2;
        EXPECT(fetch(device) == 1 && fetch(steps) == wanted);
    }
    EXPECT(fetch(after) == 3);
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

// Nodes of other types by the same function.
static void nodes(int *device) {
    cudaGraph_t graph;
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t node, copy, free_node;
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeMemAlloc;
    params.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    params.alloc.poolProps.location.type = cudaMemLocationTypeDevice;
    params.alloc.bytesize = 4 * sizeof(int);
    OK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
    void *memory = params.alloc.dptr;
    EXPECT(memory);
    params = {};
    params.type = cudaGraphNodeTypeMemset;
    params.memset.dst = memory;
    params.memset.value = 5;
    params.memset.elementSize = 4;
    params.memset.width = 4;
    params.memset.height = 1;
    OK(cudaGraphAddNode(&node, graph, &node, nullptr, 1, &params));
    params = {};
    params.type = cudaGraphNodeTypeMemcpy;
    params.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(memory, 16, 16, 1);
    params.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(device, 16, 16, 1);
    params.memcpy.copyParams.extent = make_cudaExtent(16, 1, 1);
    params.memcpy.copyParams.kind = cudaMemcpyDeviceToDevice;
    OK(cudaGraphAddNode(&copy, graph, &node, nullptr, 1, &params));
    params = {};
    params.type = cudaGraphNodeTypeMemFree;
    params.free.dptr = memory;
    OK(cudaGraphAddNode(&free_node, graph, &copy, nullptr, 1, &params));
    static int calls = 0;
    params = {};
    params.type = cudaGraphNodeTypeHost;
    params.host.fn = [](void *count) { ++*(int *)count; };
    params.host.userData = &calls;
    OK(cudaGraphAddNode(&node, graph, &copy, nullptr, 1, &params));
    params = {};
    params.type = cudaGraphNodeTypeEmpty;
    OK(cudaGraphAddNode(&node, graph, &node, nullptr, 1, &params));
    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 2; i++) {
        OK(cudaMemset(device, 0, 16));
        OK(cudaGraphLaunch(executable, 0));
        EXPECT(fetch(device) == 5 && fetch(device + 3) == 5);
    }
    EXPECT(calls == 2);
    params = {};
    params.type = (cudaGraphNodeType)99;
    EXPECT(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params) == cudaErrorNotSupported);
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));
}

static void errors() {
    cudaGraph_t graph, parent, bodies[3] = {};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&parent, 0));
    cudaGraphConditionalHandle handle;
    EXPECT(cudaGraphConditionalHandleCreate(&handle, (cudaGraph_t)7) == cudaErrorInvalidValue);
    EXPECT(cudaGraphConditionalHandleCreate(&handle, graph, 0, 2) == cudaErrorInvalidValue);
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = cudaGraphCondTypeWhile;
    cudaGraphNode_t node;
    for (unsigned size : {0u, 2u}) {
        params.conditional.size = size;
        EXPECT(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params) == cudaErrorInvalidValue);
    }
    params.conditional.size = 1;
    params.conditional.handle = 77;
    EXPECT(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params) == cudaErrorInvalidValue);
    conditional(graph, nullptr, handle, cudaGraphCondTypeWhile, 1, bodies);
    EXPECT(cudaGraphAddChildGraphNode(&node, parent, nullptr, 0, graph) == cudaErrorInvalidValue);
    // A body that never ends is found where nothing in it could end it.
    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaGraphLaunch(executable, 0));
    EXPECT(cudaDeviceSynchronize() == cudaErrorLaunchTimeout);
}

int main() {
    int *device;
    OK(cudaMalloc(&device, 64));
    branches(device);
    loop(device);
    nodes(device);
    errors();
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
