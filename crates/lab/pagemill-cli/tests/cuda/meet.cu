// Kernels that wait: for the host, for kernels of other streams, and work behind them.
#include "expect.cuh"
#include <thread>

using Word = volatile int;

// The first thread asks; the others of its block wait at the barrier.
__global__ void wait_for(Word *latch) {
    if (threadIdx.x == 0) {
        while (latch[0] == 0) {
        }
    }
    __syncthreads();
}

__global__ void add(int *words, int count, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) words[i] += value;
}

// Answers each word of the host with its own.
__global__ void echo(Word *to_host, Word *to_gpu, int rounds) {
    for (int i = 1; i <= rounds; i++) {
        to_host[0] = i;
        __threadfence_system();
        while (to_gpu[0] != i) {
        }
    }
    to_host[0] = -1;
}

// Kernel `me` of a ring passes on what the one before it has passed on, one more each time.
__global__ void pass_on(Word *ring, int me, int kernels, int rounds) {
    int before = (me + kernels - 1) % kernels;
    for (int i = 0; i < rounds; i++) {
        int wanted = me == 0 ? i : i + 1;
        while (ring[32 * before] != wanted) {
        }
        ring[32 * me] = i + 1;
        __threadfence();
    }
}

static void CUDART_CB count_call(void *calls) { ++*static_cast<int *>(calls); }

static cudaStream_t new_stream() {
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

template <typename T> static T *pinned(size_t count) {
    T *words;
    OK(cudaMallocHost((void **)&words, count * sizeof(T)));
    for (size_t i = 0; i < count; i++) words[i] = 0;
    return words;
}

// A latch of the host, and all kinds of work behind it.
static void work_behind_a_latch() {
    const int count = 1000;
    int *latch = pinned<int>(1), *managed, *device, *other, calls = 0, small[4] = {1, 2, 3, 4}, back[4] = {};
    OK(cudaMallocManaged(&managed, count * sizeof(int)));
    OK(cudaMalloc(&device, count * sizeof(int)));
    OK(cudaMalloc(&other, sizeof(int)));
    OK(cudaMemset(other, 0, sizeof(int)));
    for (int i = 0; i < count; i++) managed[i] = i;
    cudaStream_t first = new_stream(), second = new_stream();
    cudaEvent_t event;
    OK(cudaEventCreate(&event));
    wait_for<<<2, 128, 0, first>>>(latch);
    add<<<4, 256, 0, first>>>(managed, count, 1);
    OK(cudaMemsetAsync(device, 0, count * sizeof(int), first));
    // Pageable memory belongs to the program again when the call returns.
    OK(cudaMemcpyAsync(device, small, sizeof small, cudaMemcpyHostToDevice, first));
    small[0] = 99;
    add<<<1, 32, 0, first>>>(device, 4, 10);
    OK(cudaLaunchHostFunc(first, count_call, &calls));
    OK(cudaEventRecord(event, first));
    OK(cudaStreamWaitEvent(second, event));
    add<<<1, 32, 0, second>>>(device, 4, 100);
    EXPECT(cudaStreamQuery(first) == cudaErrorNotReady);
    EXPECT(cudaEventQuery(event) == cudaErrorNotReady);
    EXPECT(cudaStreamQuery(second) == cudaErrorNotReady);
    EXPECT(calls == 0);
    // An event may be destroyed before it happens.
    cudaEvent_t gone;
    OK(cudaEventCreate(&gone));
    OK(cudaEventRecord(gone, first));
    OK(cudaStreamWaitEvent(second, gone));
    OK(cudaEventDestroy(gone));
    // Another stream does not wait.
    cudaStream_t third = new_stream();
    add<<<1, 1, 0, third>>>(other, 1, 7);
    OK(cudaStreamSynchronize(third));
    *(Word *)latch = 1;
    OK(cudaStreamSynchronize(second));
    EXPECT(cudaEventQuery(event) == cudaSuccess);
    OK(cudaStreamSynchronize(first));
    EXPECT(calls == 1);
    EXPECT(managed[0] == 1 && managed[count - 1] == count);
    OK(cudaMemcpy(back, device, sizeof back, cudaMemcpyDeviceToHost));
    EXPECT(back[0] == 111 && back[1] == 112 && back[2] == 113 && back[3] == 114);
    float time_ms;
    OK(cudaEventElapsedTime(&time_ms, event, event));
}

// The host asks memory, not the runtime.
static void host_and_kernel_talk(bool is_managed) {
    int *to_host = pinned<int>(1), *to_gpu = pinned<int>(1);
    if (is_managed) {
        OK(cudaMallocManaged(&to_gpu, sizeof(int)));
        *to_gpu = 0;
    }
    echo<<<1, 32>>>(to_host, to_gpu, 5);
    for (int i = 1; i <= 5; i++) {
        while (*(Word *)to_host != i) {
        }
        *(Word *)to_gpu = i;
    }
    while (*(Word *)to_host != -1) {
    }
    OK(cudaDeviceSynchronize());
}

static void kernels_in_a_ring(bool is_managed) {
    const int kernels = 3, rounds = 6;
    int *ring;
    OK(is_managed ? cudaMallocManaged(&ring, kernels * 128) : cudaMalloc(&ring, kernels * 128));
    OK(cudaMemset(ring, 0, kernels * 128));
    OK(cudaDeviceSynchronize());
    for (int me = 0; me < kernels; me++) pass_on<<<1, 1, 0, new_stream()>>>(ring, me, kernels, rounds);
    OK(cudaDeviceSynchronize());
    int last;
    OK(cudaMemcpy(&last, ring + 32 * (kernels - 1), sizeof last, cudaMemcpyDefault));
    EXPECT(last == rounds);
}

// The host waits for the GPU, which waits for another thread of the host.
static void another_thread_opens_the_latch() {
    int *latch = pinned<int>(1), *device, value = 0;
    OK(cudaMalloc(&device, sizeof(int)));
    OK(cudaMemset(device, 0, sizeof(int)));
    wait_for<<<1, 32>>>(latch);
    // The default stream is behind it.
    add<<<1, 32>>>(device, 1, 5);
    std::thread other([=] { *(Word *)latch = 1; });
    OK(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
    EXPECT(value == 5);
    other.join();
}

int main() {
    work_behind_a_latch();
    host_and_kernel_talk(false);
    host_and_kernel_talk(true);
    kernels_in_a_ring(false);
    kernels_in_a_ring(true);
    another_thread_opens_the_latch();
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
