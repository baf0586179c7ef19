/* A stand-in for the CUDA driver that says on standard output what it is asked for.
 *
 * FAR: cuGetProcAddress answers with other addresses than those of the symbols, as NVIDIA's driver may.
 * REFUSE: cuMemAdvise fails. BATCH, when compiled with it: there is a call for many copies at once; NO_BATCH: not on this GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;
typedef void *handle;

static int say(const char *what, long a, long b, long c, handle stream) {
    printf("%s %ld %ld %ld %ld\n", what, a, b, c, (long)stream);
    fflush(stdout);
    return 0;
}

static address next = 0x100000;

int cuInit(unsigned flags) { return say("init", flags, 0, 0, NULL); }
int cuCtxGetDevice(int *device) { return *device = 0; }
int cuCtxSynchronize(void) { return say("wait", 0, 0, 0, NULL); }
int cuGetErrorName(int error, const char **name) { return *name = error == 1 ? "CUDA_ERROR_INVALID_VALUE" : "?", 0; }
int cuStreamIsCapturing(handle stream, int *status) { return *status = stream == (handle)7, 0; }
int cuFutureCall(int a) { return say("future", a, 0, 0, NULL); }

int cuMemAllocManaged(address *to, size_t bytes, unsigned flags) {
    *to = next;
    next += 0x100000;
    return say("allocate", (long)*to, (long)bytes, flags, NULL);
}
int cuMemAlloc_v2(address *to, size_t bytes) { return *to = 0xd0000, say("device", (long)bytes, 0, 0, NULL); }
int cuMemAllocPitch_v2(address *to, size_t *pitch, size_t width, size_t height, unsigned element) {
    return *to = 0xe0000, *pitch = width, say("device", (long)width, (long)height, element, NULL);
}
int cuMemAllocAsync(address *to, size_t bytes, handle stream) {
    return *to = 0xf0000, say("pool", (long)bytes, 0, 0, stream);
}
int cuMemAllocFromPoolAsync(address *to, size_t bytes, handle pool, handle stream) {
    return (void)pool, cuMemAllocAsync(to, bytes, stream);
}
int cuMemFreeAsync(address at, handle stream) { return say("free to the pool", (long)at, 0, 0, stream); }
int cuStreamSynchronize(handle stream) { return say("wait", 0, 0, 0, stream); }
int cuMemFree_v2(address at) { return say("free", (long)at, 0, 0, NULL); }
int cuMemAdvise(address at, size_t bytes, int advice, int device) {
    say("advise", (long)at, (long)bytes, advice, (handle)(long)device);
    return getenv("REFUSE") ? 1 : 0;
}
int cuMemPrefetchAsync(address at, size_t bytes, int device, handle stream) {
    return say("prefetch", (long)at, (long)bytes, device, stream);
}
#ifdef BATCH
int cuMemPrefetchBatchAsync(address *at, size_t *bytes, size_t count, int (*places)[2], size_t *from,
                            size_t place_count, unsigned long long flags, handle stream) {
    if (getenv("NO_BATCH")) return 801;
    if (place_count != 1 || from[0] != 0 || flags != 0) return 1;
    for (size_t i = 0; i < count; i++) say("batch", (long)at[i], (long)bytes[i], places[0][0], stream);
    return 0;
}
#endif

#define GRID unsigned x, unsigned y, unsigned z, unsigned i, unsigned j, unsigned k, unsigned shared
int cuLaunchKernel(handle kernel, GRID, handle stream, void **values, void **extra) {
    return (void)y, (void)z, (void)i, (void)j, (void)k, (void)shared, (void)values, (void)extra,
           kernel ? say("launch", (long)kernel, x, 0, stream) : 1;
}
int cuLaunchKernel_ptsz(handle kernel, GRID, handle stream, void **values, void **extra) {
    return (void)y, (void)z, (void)i, (void)j, (void)k, (void)shared, (void)values, (void)extra,
           say("launch_ptsz", (long)kernel, x, 0, stream);
}
int cuGraphLaunch(handle graph, handle stream) { return say("graph", (long)graph, 0, 0, stream); }

static int far_launch(handle kernel, GRID, handle stream, void **values, void **extra) {
    return cuLaunchKernel(kernel, x, y, z, i, j, k, shared, stream, values, extra);
}
static int far_launch_ptsz(handle kernel, GRID, handle stream, void **values, void **extra) {
    return cuLaunchKernel_ptsz(kernel, x, y, z, i, j, k, shared, stream, values, extra);
}
static int far_allocate(address *to, size_t bytes, unsigned flags) { return cuMemAllocManaged(to, bytes, flags); }

int cuGetProcAddress_v2(const char *name, void **to, int version, unsigned long long flags, int *status) {
    int is_far = getenv("FAR") != NULL;
    (void)version;
    *status = 0;
    *to = NULL;
    if (!strcmp(name, "cuLaunchKernel") && flags & 2)
        *to = is_far ? (void *)far_launch_ptsz : (void *)cuLaunchKernel_ptsz;
    else if (!strcmp(name, "cuLaunchKernel"))
        *to = is_far ? (void *)far_launch : (void *)cuLaunchKernel;
    else if (!strcmp(name, "cuMemAllocManaged"))
        *to = is_far ? (void *)far_allocate : (void *)cuMemAllocManaged;
    else if (!strcmp(name, "cuFutureCall"))
        *to = (void *)cuFutureCall;
    else if (!strcmp(name, "cuGetProcAddress"))
        *to = (void *)cuGetProcAddress_v2;
    return *to ? 0 : 500;
}
