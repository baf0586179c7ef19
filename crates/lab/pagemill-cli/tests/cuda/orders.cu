// Work of streams and of the CPU without an order, and calls that are mistakes: the first argument is which, the second
// "mended" for the same without the mistake. A comment "HERE name" stands where a kernel's part in it is reported.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <thread>

constexpr int COUNT = 4096;
constexpr size_t BYTES = COUNT * sizeof(float);

__global__ void add(float* data, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x)
        data[i] += 1;  // HERE kernel
}

__global__ void look(const float* data, float* out)
{
    out[threadIdx.x] = data[threadIdx.x];  // HERE reader
}

static cudaStream_t first, second, apart;
static cudaEvent_t event;
static float *data, *other, *pinned, *managed;

static std::atomic<bool> is_told, has_looked;

// Ends only after the other thread has heard of it.
static void tell_the_other(void*)
{
    is_told = true;
    while (!has_looked)
        std::this_thread::yield();
}

static void look_when_told()
{
    while (!is_told)
        std::this_thread::yield();
    look<<<1, 128, 0, second>>>(data, other);
    has_looked = true;
}

static void order(bool mended)
{
    cudaEventRecord(event, first);
    if (mended)
        cudaStreamWaitEvent(second, event, 0);
}

static void fork_and_join(bool mended)
{
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal);
    cudaEventRecord(event, first);
    cudaStreamWaitEvent(second, event, 0);
    add<<<4, 128, 0, first>>>(data, COUNT);
    if (mended) {
        cudaEventRecord(event, first);
        cudaStreamWaitEvent(second, event, 0);
    }
    add<<<4, 128, 0, second>>>(data, COUNT);
    cudaEventRecord(event, second);
    cudaStreamWaitEvent(first, event, 0);
    cudaStreamEndCapture(first, &graph);
    cudaGraphInstantiate(&ready, graph, 0);
    cudaGraphLaunch(ready, first);
}

static void tell(void* flag)
{
    *static_cast<int*>(flag) = 1;
}

int main(int argc, char** argv)
{
    const char* which = argc > 1 ? argv[1] : "";
    bool mended = argc > 2 && strcmp(argv[2], "mended") == 0;
    auto is = [&](const char* name) { return strcmp(which, name) == 0; };
    cudaStreamCreate(&first);
    cudaStreamCreate(&second);
    cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    cudaMalloc(&data, BYTES);
    cudaMalloc(&other, BYTES);
    cudaMallocHost(&pinned, BYTES);
    cudaMallocManaged(&managed, BYTES);
    cudaMemset(data, 0, BYTES);
    for (int i = 0; i < COUNT; i++)
        pinned[i] = managed[i] = 0;
    cudaDeviceSynchronize();

    float* plain = static_cast<float*>(malloc(2 * BYTES));
    if (is("two-streams")) {
        add<<<4, 128, 0, first>>>(data, COUNT);
        order(mended);
        add<<<4, 128, 0, second>>>(data, COUNT);
    } else if (is("halves")) {
        add<<<4, 128, 0, first>>>(data, COUNT / 2 + (mended ? 0 : 1));
        add<<<4, 128, 0, second>>>(data + COUNT / 2, COUNT / 2);
    } else if (is("write-after-read")) {
        look<<<1, 128, 0, first>>>(data, other);
        order(mended);
        add<<<4, 128, 0, second>>>(data, COUNT);
    } else if (is("missing-event")) {
        cudaMemcpyAsync(data, pinned, BYTES, cudaMemcpyHostToDevice, first);
        order(mended);
        add<<<4, 128, 0, second>>>(data, COUNT);
    } else if (is("early-copy")) {
        add<<<4, 128, 0, first>>>(data, COUNT);
        order(mended);
        cudaMemcpyAsync(pinned, data, BYTES, cudaMemcpyDeviceToHost, second);
    } else if (is("two-fills")) {
        cudaMemsetAsync(data, 0, BYTES, first);
        order(mended);
        cudaMemsetAsync(data, 1, BYTES, second);
    } else if (is("default-stream")) {
        add<<<4, 128, 0, mended ? first : apart>>>(data, COUNT);
        add<<<4, 128>>>(data, COUNT);
        add<<<4, 128, 0, mended ? second : apart>>>(data, COUNT);
    } else if (is("copy-beside")) {
        add<<<4, 128, 0, mended ? first : apart>>>(data, COUNT);
        cudaMemcpy(plain, data, BYTES, cudaMemcpyDeviceToHost);
    } else if (is("graph")) {
        fork_and_join(mended);
    } else if (is("beside-graph")) {
        fork_and_join(true);
        if (mended)
            cudaStreamSynchronize(first);
        look<<<1, 128, 0, second>>>(data, other);
    } else if (is("free-beside")) {
        float* pooled;
        cudaMallocAsync(&pooled, BYTES, first);
        cudaMemsetAsync(pooled, 0, BYTES, first);
        add<<<4, 128, 0, first>>>(pooled, COUNT);
        order(mended);
        cudaFreeAsync(pooled, second);
    } else if (is("host-managed")) {
        add<<<4, 128, 0, first>>>(managed, COUNT);
        if (mended)
            cudaStreamSynchronize(first);
        printf("%g\n", managed[7]);
    } else if (is("host-writes")) {
        add<<<4, 128, 0, first>>>(managed, COUNT);
        cudaEventRecord(event, first);
        if (mended)
            cudaEventSynchronize(event);
        managed[COUNT - 1] = 3;
    } else if (is("host-pinned")) {
        cudaMemcpyAsync(pinned, data, BYTES, cudaMemcpyDeviceToHost, first);
        cudaEventRecord(event, mended ? first : second);
        cudaEventSynchronize(event);
        printf("%g\n", pinned[7]);
    } else if (is("host-told")) {
        volatile int flag = 0;
        add<<<4, 128, 0, first>>>(managed, COUNT);
        if (mended)
            cudaLaunchHostFunc(first, tell, const_cast<int*>(&flag));
        printf("%g\n", managed[7]);
    } else if (is("function-tells")) {
        std::thread beside(look_when_told);
        add<<<4, 128, 0, first>>>(data, COUNT);
        if (mended)
            cudaLaunchHostFunc(first, tell_the_other, nullptr);
        else
            is_told = true;
        beside.join();
    } else if (is("double-free")) {
        cudaFree(other);
        if (!mended)
            cudaFree(other);
    } else if (is("foreign-free")) {
        if (!mended)
            cudaFree(plain);
    } else if (is("inner-free")) {
        cudaFree(other + (mended ? 0 : 8));
    } else if (is("host-double-free")) {
        cudaFreeHost(pinned);
        if (!mended)
            cudaFreeHost(pinned);
    } else if (is("long-copy")) {
        cudaMemcpy(plain, data, BYTES + (mended ? 0 : 4), cudaMemcpyDeviceToHost);
    } else if (is("long-fill")) {
        cudaMemset(data, 0, BYTES + (mended ? 0 : 1));
    } else if (is("copy-of-freed")) {
        if (!mended)
            cudaFree(data);
        cudaMemcpy(plain, data, BYTES, cudaMemcpyDeviceToHost);
    } else if (is("copied-uninitialized")) {
        if (mended)
            cudaMemset(other, 0, BYTES);
        cudaMemcpy(plain, other, BYTES, cudaMemcpyDeviceToHost);
        cudaMemcpy(data, other, BYTES, cudaMemcpyDeviceToDevice);
        add<<<1, 128>>>(data, 128);
    } else
        return 9;
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
