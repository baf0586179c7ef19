// What goes wrong on purpose: the argument says what. Prints the name of every error code.
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define SHOW(call) printf("%s\n", cudaGetErrorName(call))

__global__ void write_at(int *to, long long at) { to[at] = 7; }
__global__ void read_at(int *to, long long at) { *to = to[at]; }
__global__ void misaligned(char *to) { *(int *)(to + 1) = 7; }
__global__ void claim(int value) { assert(value == 1); }
__global__ void stop() { __trap(); }
__global__ void nothing() {}
__device__ int one(int by) { return by + 1; }
__device__ int two(int by) { return by + 2; }
__device__ int (*table[3])(int) = {one, two, nullptr};
__global__ void by_address(int *to, int which) { *to = table[which](3); }
__device__ __noinline__ int far(int n, int *to);
__device__ __noinline__ int near(int n, int *to) { return n == 0 ? *to : far(n - 1, to) * 3 + 1; }
__device__ __noinline__ int far(int n, int *to) { return n == 0 ? *to : near(n - 1, to) * 5 + 2; }
__global__ void deep(int *to, int n) { *to = far(n, to); }
__global__ void refused(int *to) { asm volatile("vshl.u32.u32.u32.clamp %0, %1, %1;" : "=r"(*to) : "r"(to[1])); }
__global__ void fetch(cudaTextureObject_t from, float *to) { *to = tex1D<float>(from, 0.0f); }
__global__ void scribble(cudaSurfaceObject_t to, int x) { surf2Dwrite(1.0f, to, x * 4, 0); }

static int *memory;

static void run(const char *what) {
    if (!strcmp(what, "bounds")) {
        write_at<<<1, 1>>>(memory, 1 << 20);
        // The launch went well, and nothing has said yet what became of the kernel.
        SHOW(cudaPeekAtLastError());
        SHOW(cudaGetLastError());
        SHOW(cudaDeviceSynchronize());
        SHOW(cudaGetLastError());
        SHOW(cudaGetLastError());
        SHOW(cudaMalloc((void **)&memory, 4));
        SHOW(cudaPeekAtLastError());
    } else if (!strcmp(what, "beyond")) {
        // Its 64 bytes are rounded to 2 MiB, and those behind read as zero.
        read_at<<<1, 1>>>(memory, 16);
        SHOW(cudaDeviceSynchronize());
        int held = 1;
        SHOW(cudaMemcpy(&held, memory, sizeof held, cudaMemcpyDeviceToHost));
        SHOW(held == 0 ? cudaSuccess : cudaErrorUnknown);
        read_at<<<1, 1>>>(memory, 1 << 19);
        SHOW(cudaDeviceSynchronize());
    } else if (!strcmp(what, "misaligned")) {
        misaligned<<<1, 1>>>((char *)memory);
        SHOW(cudaDeviceSynchronize());
    } else if (!strcmp(what, "assert")) {
        claim<<<1, 1>>>(2);
        SHOW(cudaDeviceSynchronize());
    } else if (!strcmp(what, "trap")) {
        stop<<<1, 1>>>();
        SHOW(cudaDeviceSynchronize());
    } else if (!strcmp(what, "threads")) {
        nothing<<<1, 2000>>>();
        SHOW(cudaGetLastError());
        SHOW(cudaGetLastError());
        nothing<<<0, 32>>>();
        SHOW(cudaGetLastError());
        nothing<<<1, 32, 1 << 20>>>();
        SHOW(cudaGetLastError());
        nothing<<<1, dim3(1, 1, 65)>>>();
        SHOW(cudaGetLastError());
        nothing<<<1, 32>>>();
        SHOW(cudaDeviceSynchronize());
    } else if (!strcmp(what, "refused")) {
        for (int times = 0; times < 5; ++times) refused<<<1, 1>>>(memory);
        SHOW(cudaGetLastError());
    } else if (!strcmp(what, "free")) {
        int local = 0;
        SHOW(cudaFree(&local));
        SHOW(cudaFree(memory + 1));
        SHOW(cudaFree(memory));
        SHOW(cudaFree(memory));
        SHOW(cudaFree(nullptr));
        SHOW(cudaFreeHost(&local));
        SHOW(cudaHostUnregister(&local));
    } else if (!strcmp(what, "copies")) {
        char host[64];
        SHOW(cudaMemcpy(memory, host, 65, cudaMemcpyHostToDevice));
        SHOW(cudaMemcpy(host, host, 4, cudaMemcpyDeviceToHost));
        SHOW(cudaMemcpy(memory, nullptr, 4, cudaMemcpyHostToDevice));
        SHOW(cudaMemcpy(memory, host, 4, (cudaMemcpyKind)9));
        SHOW(cudaMemset(host, 0, 4));
        SHOW(cudaMemcpy2D(memory, 8, host, 8, 16, 2, cudaMemcpyHostToDevice));
        SHOW(cudaMemcpy2D(memory, 8, host, 32, 16, 1, cudaMemcpyHostToDevice));
        SHOW(cudaMemcpyToSymbol((const void *)host, host, 4));
    } else if (!strcmp(what, "handles")) {
        float elapsed;
        cudaEvent_t event;
        SHOW(cudaStreamSynchronize((cudaStream_t)0x1234));
        SHOW(cudaEventRecord((cudaEvent_t)0x1234));
        SHOW(cudaEventCreate(&event));
        SHOW(cudaEventElapsedTime(&elapsed, event, event));
        SHOW(cudaSetDevice(3));
        SHOW(cudaMalloc(nullptr, 4));
        SHOW(cudaMallocManaged((void **)&memory, 0));
        SHOW(cudaMallocManaged((void **)&memory, 64, 9));
        SHOW(cudaMalloc((void **)&memory, 1ull << 60));
        SHOW(cudaLaunchKernel((const void *)&elapsed, dim3(1), dim3(1), nullptr, 0, nullptr));
        cudaFuncAttributes attributes;
        SHOW(cudaFuncGetAttributes(&attributes, (const void *)&elapsed));
    } else if (!strcmp(what, "unsupported")) {
        cudaMemPoolPtrExportData data;
        SHOW(cudaMemPoolExportPointer(&data, memory));
        SHOW(cudaMemPoolExportPointer(&data, memory));
        SHOW(cudaGetLastError());
    } else if (!strcmp(what, "texture")) {
        fetch<<<1, 1>>>(0x77, (float *)memory);
        SHOW(cudaDeviceSynchronize());
    } else if (!strcmp(what, "surface")) {
        cudaResourceDesc resource = {};
        cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
        cudaSurfaceObject_t surface = 0;
        SHOW(cudaMallocArray(&resource.res.array.array, &format, 8, 4, cudaArraySurfaceLoadStore));
        SHOW(cudaCreateSurfaceObject(&surface, &resource));
        scribble<<<1, 1>>>(surface, 8);
        SHOW(cudaDeviceSynchronize());
    } else if (!strcmp(what, "cooperative")) {
        SHOW(cudaLaunchCooperativeKernel((const void *)nothing, dim3(1000), dim3(256), nullptr, 0, nullptr));
        SHOW(cudaLaunchCooperativeKernel((const void *)nothing, dim3(1), dim3(5000), nullptr, 0, nullptr));
        SHOW(cudaLaunchCooperativeKernel((const void *)nothing, dim3(2), dim3(256), nullptr, 0, nullptr));
    } else if (!strcmp(what, "stack")) {
        size_t bytes = 0;
        SHOW(cudaDeviceSetLimit(cudaLimitStackSize, 1ull << 40));
        SHOW(cudaDeviceSetLimit(cudaLimitStackSize, 16 << 10));
        SHOW(cudaDeviceGetLimit(&bytes, cudaLimitStackSize));
        SHOW(bytes == 16 << 10 ? cudaSuccess : cudaErrorUnknown);
        deep<<<1, 32>>>(memory, 100);
        SHOW(cudaDeviceSynchronize());
        deep<<<1, 32>>>(memory, 100000);
        SHOW(cudaDeviceSynchronize());
    } else if (!strcmp(what, "pointer")) {
        by_address<<<1, 1>>>(memory, 1);
        SHOW(cudaDeviceSynchronize());
        by_address<<<1, 1>>>(memory, 2);
        SHOW(cudaDeviceSynchronize());
    } else if (!strcmp(what, "kernel")) {
        refused<<<1, 1>>>(memory);
        SHOW(cudaGetLastError());
        nothing<<<1, 1>>>();
        SHOW(cudaDeviceSynchronize());
    } else if (!strcmp(what, "nothing")) {
        nothing<<<1, 1>>>();
        SHOW(cudaGetLastError());
    } else if (!strcmp(what, "crash")) {
        *(volatile int *)memory = 1;
    }
}

int main(int argc, char **argv) {
    SHOW(cudaMalloc((void **)&memory, 64));
    run(argc > 1 ? argv[1] : "");
    return argc > 2 ? atoi(argv[2]) : 0;
}
