/* A stand-in for the CUDA driver: one GPU of 300 MiB whose kernels take a millisecond and do nothing. It is strict where
 * the driver is, and says on standard error what a program did wrong.
 *
 * FAKE_CUDA: "no-gpu" has the driver find none, "fail-launch" has every launch fail,
 * "fail-register" every second registration, "fail-synchronize" every wait.
 * OLD_DRIVER, when compiled with it, leaves out a call.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    OK = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_IMAGE = 200,
    NOT_FOUND = 500,
    LAUNCH_FAILED = 719
};

#define MIB ((size_t)1 << 20)
#define GPU_BYTES (300 * MIB)
#define BUFFERS 16

struct buffer {
    uintptr_t address;
    size_t bytes;
    int is_fixed;
};

static struct buffer buffers[BUFFERS];
static const char *module_text[8];
static int modules;

static int is_set(const char *value) {
    const char *set = getenv("FAKE_CUDA");
    return set && !strcmp(set, value);
}

static int complain(const char *what) {
    fprintf(stderr, "fake CUDA: %s\n", what);
    return INVALID_VALUE;
}

static struct buffer *holding(uintptr_t address, size_t bytes) {
    for (struct buffer *b = buffers; b < buffers + BUFFERS; b++)
        if (b->bytes && address >= b->address && bytes <= b->bytes && address - b->address <= b->bytes - bytes)
            return b;
    return NULL;
}

int cuInit(unsigned flags) { return is_set("no-gpu") ? NO_DEVICE : flags ? complain("flags of cuInit") : OK; }
int cuDriverGetVersion(int *version) { return *version = 12040, OK; }

int cuGetErrorString(int error, const char **text) {
    *text = error == NO_DEVICE ? "no CUDA-capable device is detected" : "an error of the stand-in";
    return OK;
}

int cuGetErrorName(int error, const char **text) { return cuGetErrorString(error, text); }
int cuDeviceGetCount(int *count) { return *count = 1, OK; }
int cuDeviceGet(int *device, int index) { return *device = index, index == 0 ? OK : complain("no such GPU"); }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = GPU_BYTES, device; }

int cuDeviceGetName(char *name, int length, int device) {
    snprintf(name, (size_t)length, "NVIDIA Stand-In 300");
    return device;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
    case 16:
        *value = 2;
        break; /* streaming multiprocessors */
    case 75:
        *value = 9;
        break; /* compute capability */
    case 89:
        *value = 1;
        break; /* concurrent managed access */
    default:
        *value = 0;
    }
    return device;
}

/* Host memory that is registered, and what was asked of it since the last synchronization: a GPU writes when it likes. */
#define DEVICE_OFFSET ((uintptr_t)1 << 46)
#define REGISTRATIONS 64
static struct buffer registered[REGISTRATIONS];
static struct buffer to_clear[REGISTRATIONS];

static struct buffer *place(struct buffer *table, uintptr_t address) {
    for (struct buffer *b = table; b < table + REGISTRATIONS; b++)
        if (b->address == address) return b;
    return NULL;
}

int cuMemHostRegister_v2(void *start, size_t bytes, unsigned flags) {
    struct buffer *free_place = place(registered, 0);
    if (flags != 2 || !bytes || (uintptr_t)start % 4096 || bytes % 4096)
        return complain("registered what is no run of pages, or not for the device");
    if (is_set("fail-register") && free_place != registered) return OUT_OF_MEMORY;
    if (!free_place || place(registered, (uintptr_t)start)) return complain("registered twice, or too much");
    *free_place = (struct buffer){(uintptr_t)start, bytes, 1};
    return OK;
}

int cuMemHostGetDevicePointer_v2(uintptr_t *device, void *start, unsigned flags) {
    *device = (uintptr_t)start + DEVICE_OFFSET;
    return !flags && place(registered, (uintptr_t)start) ? OK : complain("the device cannot see this memory");
}

int cuMemHostUnregister(void *start) {
    struct buffer *known = place(registered, (uintptr_t)start);
    if (!known || place(to_clear, (uintptr_t)start)) return complain("unregistered what is unknown or still written");
    *known = (struct buffer){0};
    return OK;
}

int cuMemsetD8Async(uintptr_t device, unsigned char value, size_t bytes, void *stream) {
    struct buffer *known = place(registered, device - DEVICE_OFFSET);
    struct buffer *order = place(to_clear, 0);
    if (!known || !order || value || stream || bytes != known->bytes) return complain("set what is not registered");
    *order = *known;
    return OK;
}

static int context;
int cuDevicePrimaryCtxRetain(void **retained, int device) { return *retained = &context, device; }
int cuCtxSetCurrent(void *current) { return current == &context ? OK : complain("not the context"); }

// Whether data are on their way: a prefetch is done when its turn comes, advice at once.
static int is_moving;

int cuCtxSynchronize(void) {
    if (is_set("fail-synchronize")) return LAUNCH_FAILED;
    is_moving = 0;
    for (struct buffer *b = to_clear; b < to_clear + REGISTRATIONS; b++) {
        memset((void *)b->address, 0, b->bytes);
        *b = (struct buffer){0};
    }
    return OK;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    for (struct buffer *b = buffers; b < buffers + BUFFERS; b++)
        if (b->bytes) complain("memory was not freed");
    return modules ? complain("a module was not unloaded") : device;
}

int cuModuleLoadDataEx(void **module, const char *text, unsigned options, const int *names, void **values) {
    if (options != 2 || names[0] != 5 || names[1] != 6 || (size_t)values[1] < 64)
        return complain("options of the module");
    if (!strstr(text, "\n.version 6.0\n.target sm_70\n"))
        return snprintf(values[0], (size_t)values[1], "PTX that is too new"), INVALID_IMAGE;
    *module = (void *)&module_text[modules];
    /* The text is the program's: a copy outlives it. */
    module_text[modules++] = strdup(text);
    return OK;
}

int cuModuleGetFunction(void **function, const char **module, const char *name) {
    char entry[128];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    *function = (void *)strstr(*module, entry);
    return *function ? OK : NOT_FOUND;
}

int cuModuleUnload(const char **module) { return free((void *)*module), modules--, OK; }

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const char *function, int threads, size_t shared) {
    *blocks = 16;
    return threads == 128 && !shared && function ? OK : complain("occupancy");
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    *free_bytes = *total = GPU_BYTES;
    for (struct buffer *b = buffers; b < buffers + BUFFERS; b++) *free_bytes -= b->is_fixed ? b->bytes : 0;
    return OK;
}

static int allocate(uintptr_t *address, size_t bytes, int is_fixed) {
    for (struct buffer *b = buffers; b < buffers + BUFFERS; b++) {
        if (b->bytes) continue;
        void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (!bytes || memory == MAP_FAILED) return OUT_OF_MEMORY;
        *b = (struct buffer){(uintptr_t)memory, bytes, is_fixed};
        return *address = b->address, OK;
    }
    return OUT_OF_MEMORY;
}

int cuMemAlloc_v2(uintptr_t *address, size_t bytes) { return allocate(address, bytes, 1); }

int cuMemAllocManaged(uintptr_t *address, size_t bytes, unsigned flags) {
    return flags == 1 ? allocate(address, bytes, 0) : complain("flags of managed memory");
}

int cuMemFree_v2(uintptr_t address) {
    struct buffer *buffer = holding(address, 1);
    if (!buffer || buffer->address != address) return complain("freed what was not allocated");
    munmap((void *)address, buffer->bytes);
    *buffer = (struct buffer){0};
    return OK;
}

static int managed_part(uintptr_t address, size_t bytes, int device) {
    struct buffer *buffer = holding(address, bytes);
    int is_good = buffer && !buffer->is_fixed && bytes && address % 4096 == 0 && (device == 0 || device == -1);
    return is_good ? OK : complain("a range that is no part of managed memory");
}

int cuMemAdvise(uintptr_t address, size_t bytes, int advice, int device) {
    if (is_moving && (advice == 1 || advice == 2)) return complain("data that are read mostly while they move back");
    int is_known = advice == 1 || advice == 2 || advice == 3 || advice == 5;
    return is_known ? managed_part(address, bytes, device) : complain("advice");
}

#ifndef OLD_DRIVER
int cuMemPrefetchAsync(uintptr_t address, size_t bytes, int device, void *stream) {
    is_moving = 1;
    return stream ? complain("a stream") : managed_part(address, bytes, device);
}
#endif

int cuLaunchKernel(const char *function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned threads_y,
                   unsigned threads_z, unsigned shared, void *stream, void **arguments, void **extra) {
    if (is_set("fail-launch")) return LAUNCH_FAILED;
    if (!function || x != 32 || y != 1 || z != 1 || threads != 128 || threads_y != 1 || threads_z != 1)
        return complain("a grid that does not fill the GPU once");
    if (shared || stream || extra) return complain("more arguments than needed");
    struct buffer *data = holding(*(uintptr_t *)arguments[0], 1);
    return data && !data->is_fixed ? OK : complain("a kernel over what is no managed memory");
}

static int event;
int cuEventCreate(void **created, unsigned flags) { return *created = &event, (int)flags; }
int cuEventRecord(void *recorded, void *stream) { return recorded == &event && !stream ? OK : complain("an event"); }
int cuEventSynchronize(void *waited) { return waited == &event ? OK : complain("an event"); }
int cuEventDestroy_v2(void *destroyed) { return destroyed == &event ? OK : complain("an event"); }
int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
    return *milliseconds = 1, start == end ? OK : INVALID_VALUE;
}
