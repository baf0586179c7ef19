// Memory and events of another process. The program starts itself again, which shares its memory.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

static int wrong = 0;
#define EXPECT(condition)                                                                    \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "line %d: %s is false in process %d\n", __LINE__, #condition, getpid()); \
            wrong++;                                                                         \
        }                                                                                    \
    } while (0)
#define OK(call) EXPECT((call) == cudaSuccess)

const int COUNT = 10000;

__global__ void fill(int *values, int by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT) values[i] = i * by;
}
__global__ void add(int *values, int by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT) values[i] += by;
}
__global__ void count(const int *values, int by, int plus, int *right) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT && values[i] == i * by + plus) atomicAdd(right, 1);
}

static int agree(const int *values, int by, int plus) {
    int *right, found = 0;
    OK(cudaMalloc(&right, sizeof(int)));
    OK(cudaMemset(right, 0, sizeof(int)));
    count<<<(COUNT + 255) / 256, 256>>>(values, by, plus, right);
    OK(cudaMemcpy(&found, right, sizeof(int), cudaMemcpyDefault));
    OK(cudaFree(right));
    return found;
}

struct Handles {
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t event;
};

static void say(int to) {
    char byte = 1;
    if (write(to, &byte, 1) != 1) exit(3);
}
static void hear(int from) {
    char byte;
    if (read(from, &byte, 1) != 1) exit(4);
}

static int child(int from, int to) {
    Handles handles;
    if (read(from, &handles, sizeof handles) != sizeof handles) return 2;
    int *values = nullptr, *again = nullptr;
    cudaEvent_t event;
    OK(cudaIpcOpenMemHandle((void **)&values, handles.memory, cudaIpcMemLazyEnablePeerAccess));
    OK(cudaIpcOpenMemHandle((void **)&again, handles.memory, cudaIpcMemLazyEnablePeerAccess));
    EXPECT(values && again == values);
    OK(cudaIpcCloseMemHandle(again));
    OK(cudaIpcOpenEventHandle(&event, handles.event));
    OK(cudaStreamWaitEvent(0, event, 0));
    EXPECT(agree(values, 3, 0) == COUNT);
    add<<<(COUNT + 255) / 256, 256>>>(values, 5);
    OK(cudaDeviceSynchronize());
    say(to);
    hear(from);
    // What the other process wrote last.
    int last = 0;
    OK(cudaMemcpy(&last, values + COUNT - 1, sizeof last, cudaMemcpyDefault));
    EXPECT(last == 42);
    EXPECT(cudaFree(values) == cudaErrorInvalidValue);
    OK(cudaIpcCloseMemHandle(values));
    EXPECT(cudaIpcCloseMemHandle(values) == cudaErrorInvalidValue);
    handles.memory.reserved[16] ^= 1;
    EXPECT(cudaIpcOpenMemHandle((void **)&values, handles.memory, 1) == cudaErrorInvalidResourceHandle);
    memset(&handles, 0, sizeof handles);
    EXPECT(cudaIpcOpenMemHandle((void **)&values, handles.memory, 1) == cudaErrorInvalidResourceHandle);
    OK(cudaEventDestroy(event));
    say(to);
    return wrong != 0;
}

int main(int argc, char **argv) {
    if (argc > 2) return child(atoi(argv[1]), atoi(argv[2]));
    int down[2], up[2];
    if (pipe(down) || pipe(up)) return 2;
    pid_t process = fork();
    if (process == 0) {
        char from[16], to[16];
        snprintf(from, sizeof from, "%d", down[0]);
        snprintf(to, sizeof to, "%d", up[1]);
        execl("/proc/self/exe", argv[0], from, to, (char *)nullptr);
        _exit(5);
    }
    int *values;
    cudaEvent_t event;
    Handles handles;
    OK(cudaMalloc(&values, COUNT * sizeof(int)));
    fill<<<(COUNT + 255) / 256, 256>>>(values, 3);
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
    OK(cudaIpcGetMemHandle(&handles.memory, values));
    OK(cudaIpcGetEventHandle(&handles.event, event));
    OK(cudaEventRecord(event));
    int *own;
    EXPECT(cudaIpcOpenMemHandle((void **)&own, handles.memory, 1) == cudaErrorDeviceUninitialized);
    int *managed;
    OK(cudaMallocManaged(&managed, 64));
    EXPECT(cudaIpcGetMemHandle(&handles.memory, managed) == cudaErrorInvalidValue);
    OK(cudaIpcGetMemHandle(&handles.memory, values));
    if (write(down[1], &handles, sizeof handles) != sizeof handles) return 2;
    hear(up[0]);
    EXPECT(agree(values, 3, 5) == COUNT);
    int last = 42;
    OK(cudaMemcpy(values + COUNT - 1, &last, sizeof last, cudaMemcpyDefault));
    say(down[1]);
    hear(up[0]);
    OK(cudaFree(values));
    int status = 1;
    waitpid(process, &status, 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
