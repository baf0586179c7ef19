/* A program of the driver API: loads PTX, launches in every way, and breaks the rules. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int CUresult;
typedef unsigned long long CUdeviceptr;
typedef void *handle;

#define FUNCTIONS(X)                                                                                                   \
    X(cuInit, (unsigned))                                                                                              \
    X(cuDriverGetVersion, (int *))                                                                                     \
    X(cuGetErrorName, (CUresult, const char **))                                                                       \
    X(cuGetErrorString, (CUresult, const char **))                                                                     \
    X(cuGetProcAddress_v2, (const char *, void **, int, unsigned long, int *))                                         \
    X(cuDeviceGet, (int *, int))                                                                                       \
    X(cuDeviceGetCount, (int *))                                                                                       \
    X(cuDeviceGetName, (char *, int, int))                                                                             \
    X(cuDeviceGetAttribute, (int *, int, int))                                                                         \
    X(cuDeviceTotalMem_v2, (size_t *, int))                                                                            \
    X(cuDevicePrimaryCtxRetain, (handle *, int))                                                                       \
    X(cuDevicePrimaryCtxRelease_v2, (int))                                                                             \
    X(cuCtxCreate_v2, (handle *, unsigned, int))                                                                       \
    X(cuCtxDestroy_v2, (handle))                                                                                       \
    X(cuCtxSetCurrent, (handle))                                                                                       \
    X(cuCtxGetCurrent, (handle *))                                                                                     \
    X(cuCtxPopCurrent_v2, (handle *))                                                                                  \
    X(cuCtxPushCurrent_v2, (handle))                                                                                   \
    X(cuCtxSynchronize, (void))                                                                                        \
    X(cuModuleLoadData, (handle *, const void *))                                                                      \
    X(cuModuleLoadDataEx, (handle *, const void *, unsigned, int *, void **))                                          \
    X(cuModuleUnload, (handle))                                                                                        \
    X(cuModuleGetFunction, (handle *, handle, const char *))                                                           \
    X(cuModuleGetGlobal_v2, (CUdeviceptr *, size_t *, handle, const char *))                                           \
    X(cuLinkCreate_v2, (unsigned, int *, void **, handle *))                                                           \
    X(cuLinkAddData_v2, (handle, int, void *, size_t, const char *, unsigned, int *, void **))                         \
    X(cuLinkComplete, (handle, void **, size_t *))                                                                     \
    X(cuLinkDestroy, (handle))                                                                                         \
    X(cuFuncGetAttribute, (int *, int, handle))                                                                        \
    X(cuFuncGetParamInfo, (handle, size_t, size_t *, size_t *))                                                        \
    X(cuFuncGetParamCount, (handle, size_t *))                                                                         \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                                          \
    X(cuMemAllocManaged, (CUdeviceptr *, size_t, unsigned))                                                            \
    X(cuMemFree_v2, (CUdeviceptr))                                                                                     \
    X(cuMemGetAddressRange_v2, (CUdeviceptr *, size_t *, CUdeviceptr))                                                 \
    X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))                                                            \
    X(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))                                                                  \
    X(cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, handle))                                                     \
    X(cuMemsetD32_v2, (CUdeviceptr, unsigned, size_t))                                                                 \
    X(cuPointerGetAttribute, (void *, int, CUdeviceptr))                                                               \
    X(cuStreamCreate, (handle *, unsigned))                                                                            \
    X(cuStreamSynchronize, (handle))                                                                                   \
    X(cuStreamDestroy_v2, (handle))                                                                                    \
    X(cuLaunchKernel,                                                                                                  \
      (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **))        \
    X(cuLaunchKernelEx, (const void *, handle, void **, void **))

#define DECLARE(name, arguments) static CUresult(*name) arguments;
FUNCTIONS(DECLARE)

#define CHECK(call, code)                                                                                              \
    do {                                                                                                               \
        int got = (call);                                                                                              \
        if (got != (code)) {                                                                                           \
            printf("line %d: %s gives %d, not %d\n", __LINE__, #call, got, code);                                      \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define OK(call) CHECK(call, 0)
#define TRUE(what) CHECK(!!(what), 1)

enum { COUNT = 1000 };

static const char *scale = ".version 7.0\n.target sm_75\n.address_size 64\n"
                           ".visible .global .align 4 .u32 factor = 3;\n"
                           ".visible .entry scale(.param .u64 p, .param .u32 n)\n{\n"
                           ".reg .pred %q; .reg .b32 %r<8>; .reg .b64 %d<4>;\n"
                           "ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n];\n"
                           "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
                           "mad.lo.u32 %r5, %r2, %r3, %r4;\n"
                           "setp.ge.u32 %q, %r5, %r1;\n@%q ret;\n"
                           "mul.wide.u32 %d2, %r5, 4; add.u64 %d1, %d1, %d2;\n"
                           "ld.global.u32 %r6, [%d1]; ld.global.u32 %r7, [factor];\n"
                           "mul.lo.u32 %r6, %r6, %r7; st.global.u32 [%d1], %r6;\nret;\n}\n";

static void load_functions(void) {
    handle library = dlopen("libcuda.so.1", RTLD_NOW);
    TRUE(library != NULL);
#define FIND(name, arguments) TRUE((name = (CUresult(*) arguments)dlsym(library, #name)) != NULL);
    FUNCTIONS(FIND)
}

static void expect(CUdeviceptr at, unsigned factor) {
    unsigned values[COUNT];
    OK(cuMemcpyDtoH_v2(values, at, sizeof values));
    for (unsigned i = 0; i < COUNT; i++) TRUE(values[i] == i * factor);
}

static void launches(handle context) {
    OK(cuCtxSetCurrent(context));
    handle module, function, stream;
    OK(cuModuleLoadData(&module, scale));
    OK(cuModuleGetFunction(&function, module, "scale"));
    OK(cuStreamCreate(&stream, 1));
    unsigned values[COUNT], n = COUNT;
    for (unsigned i = 0; i < COUNT; i++) values[i] = i;
    CUdeviceptr at, start;
    size_t bytes;
    OK(cuMemAlloc_v2(&at, sizeof values));
    OK(cuMemGetAddressRange_v2(&start, &bytes, at + 100));
    TRUE(start == at && bytes == sizeof values);
    OK(cuMemcpyHtoD_v2(at, values, sizeof values));

    void *pointers[] = {&at, &n};
    OK(cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, pointers, NULL));
    OK(cuStreamSynchronize(stream));
    expect(at, 3);
    struct {
        CUdeviceptr at;
        unsigned n;
    } block = {at, n};
    size_t block_bytes = 12;
    void *extra[] = {(void *)1, &block, (void *)2, &block_bytes, NULL};
    OK(cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, NULL, NULL, extra));
    OK(cuCtxSynchronize());
    expect(at, 9);
    CUdeviceptr factor;
    unsigned two = 2;
    OK(cuModuleGetGlobal_v2(&factor, &bytes, module, "factor"));
    TRUE(bytes == 4);
    OK(cuMemcpyHtoD_v2(factor, &two, 4));
    struct {
        unsigned grid[3], block[3], shared;
        handle stream;
        const void *attributes;
        unsigned count;
    } config = {{4, 1, 1}, {256, 1, 1}, 0, stream, NULL, 0};
    OK(cuLaunchKernelEx(&config, function, pointers, NULL));
    OK(cuStreamSynchronize(stream));
    expect(at, 18);
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(at));
    OK(cuModuleUnload(module));
}

static void *in_thread(void *context) {
    handle none;
    OK(cuCtxGetCurrent(&none));
    TRUE(none == NULL);
    for (int i = 0; i < 4; i++) launches(context);
    return NULL;
}

static void wrong_uses(handle context) {
    handle module, function, other;
    CUdeviceptr at;
    size_t bytes;
    int value;
    const char *text;
    /* A kernel that cannot be executed spoils none of its neighbors: it is refused when it is asked for. */
    OK(cuModuleLoadData(&module, ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry x() { nonsense; }"));
    CHECK(cuModuleGetFunction(&function, module, "x"), 218);
    OK(cuModuleUnload(module));
    char log[200] = "";
    int names[] = {5, 6};
    void *values[] = {log, (void *)sizeof log};
    CHECK(cuModuleLoadDataEx(&module, "this is no PTX", 2, names, values), 218);
    TRUE(strlen(log) > 0);
    CHECK(cuModuleLoadData(&module, "\177ELF\2\1\1"), 209);
    CHECK(cuModuleLoadData(&module, ""), 200);
    CHECK(cuModuleLoadData(&module, NULL), 1);
    OK(cuModuleLoadData(&module, scale));
    CHECK(cuModuleGetFunction(&function, module, "no such kernel"), 500);
    CHECK(cuModuleGetGlobal_v2(&at, &bytes, module, "no such variable"), 500);
    CHECK(cuModuleGetFunction(&function, (handle)42, "scale"), 400);
    OK(cuModuleGetFunction(&function, module, "scale"));
    OK(cuFuncGetAttribute(&value, 0, function));
    TRUE(value >= 512);
    CHECK(cuFuncGetAttribute(&value, 99, function), 1);
    size_t offset;
    OK(cuFuncGetParamInfo(function, 1, &offset, &bytes));
    TRUE(offset == 8 && bytes == 4);
    CHECK(cuFuncGetParamInfo(function, 2, &offset, &bytes), 1);
    size_t parameters;
    OK(cuFuncGetParamCount(function, &parameters));
    TRUE(parameters == 2);
    OK(cuModuleUnload(module));
    CHECK(cuModuleUnload(module), 400);
    unsigned n = 0;
    void *pointers[] = {&at, &n};
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL), 400);
    CHECK(cuLaunchKernel((handle)8, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL), 400);
    CHECK(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL), 400);
    CHECK(cuMemFree_v2(12345), 1);
    CHECK(cuMemAlloc_v2(&at, 0), 1);
    CHECK(cuMemAlloc_v2(&at, (size_t)1 << 60), 2);
    CHECK(cuMemAlloc_v2(NULL, 8), 1);
    CHECK(cuStreamSynchronize((handle)0x1234), 400);
    CHECK(cuDeviceGet(&value, 1), 101);
    CHECK(cuCtxPushCurrent_v2((handle)7), 201);
    CHECK(cuGetErrorName(12345, &text), 1);
    OK(cuGetErrorName(209, &text));
    TRUE(strcmp(text, "CUDA_ERROR_NO_BINARY_FOR_GPU") == 0);
    OK(cuGetErrorString(0, &text));
    TRUE(strcmp(text, "no error") == 0);
    OK(cuCtxPopCurrent_v2(&other));
    TRUE(other == context);
    CHECK(cuMemAlloc_v2(&at, 8), 201);
    CHECK(cuCtxPopCurrent_v2(&other), 201);
    OK(cuCtxPushCurrent_v2(context));
    OK(cuMemAlloc_v2(&at, 64));
    OK(cuMemsetD32_v2(at, 7, 16));
    CHECK(cuMemsetD32_v2(at + 1, 7, 1), 1);
    unsigned sevens[16];
    OK(cuMemcpyDtoH_v2(sevens, at, 64));
    TRUE(sevens[0] == 7 && sevens[15] == 7);
    CHECK(cuMemcpyDtoH_v2(sevens, at, 65), 1);
    OK(cuPointerGetAttribute(&value, 2, at));
    TRUE(value == 2);
    CHECK(cuPointerGetAttribute(&value, 2, (CUdeviceptr)&value), 1);
    OK(cuMemFree_v2(at));
    CHECK(cuMemFree_v2(at), 1);
}

static void symbols(void) {
    void *found;
    int status;
    OK(cuGetProcAddress_v2("cuMemAlloc", &found, 12000, 0, &status));
    TRUE(found == (void *)cuMemAlloc_v2 && status == 0);
    CHECK(cuGetProcAddress_v2("cuNoSuchFunction", &found, 12000, 0, &status), 500);
    TRUE(found == NULL && status == 1);
    CHECK(cuGetProcAddress_v2("cuLibraryLoadData", &found, 11000, 0, &status), 500);
    TRUE(found == NULL && status == 2);
}

static void linked(void) {
    static const char caller[] =
        ".version 7.0\n.target sm_75\n.address_size 64\n"
        ".extern .global .align 4 .u32 shared_value;\n"
        ".visible .entry get(.param .u64 p)\n{\n.reg .b32 %r; .reg .b64 %d;\n"
        "ld.param.u64 %d, [p]; ld.global.u32 %r, [shared_value]; st.global.u32 [%d], %r; ret;\n}\n";
    static const char owner[] =
        ".version 7.5\n.target sm_75\n.address_size 64\n.visible .global .align 4 .u32 shared_value = 77;\n";
    handle link, module, function;
    void *text;
    size_t bytes;
    OK(cuLinkCreate_v2(0, NULL, NULL, &link));
    OK(cuLinkAddData_v2(link, 1, (void *)caller, sizeof caller, "caller", 0, NULL, NULL));
    OK(cuLinkAddData_v2(link, 1, (void *)owner, sizeof owner, "owner", 0, NULL, NULL));
    CHECK(cuLinkAddData_v2(link, 0, (void *)owner, sizeof owner, "cubin", 0, NULL, NULL), 209);
    OK(cuLinkComplete(link, &text, &bytes));
    OK(cuModuleLoadData(&module, text));
    OK(cuLinkDestroy(link));
    CHECK(cuLinkDestroy(link), 400);
    OK(cuModuleGetFunction(&function, module, "get"));
    CUdeviceptr at;
    unsigned value = 0;
    OK(cuMemAlloc_v2(&at, 4));
    void *pointers[] = {&at};
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL));
    OK(cuMemcpyDtoH_v2(&value, at, 4));
    TRUE(value == 77);
    OK(cuMemFree_v2(at));
}

static void forked(void) {
    pid_t child = fork();
    if (child == 0) {
        CUdeviceptr at;
        _exit(cuMemAlloc_v2(&at, 8) == 3 ? 0 : 1);
    }
    int status;
    TRUE(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
    load_functions();
    CUdeviceptr at;
    int count, major;
    handle context, primary, current;
    char name[100];
    CHECK(cuMemAlloc_v2(&at, 8), 3);
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    TRUE(count == 1);
    OK(cuDeviceGetName(name, sizeof name, 0));
    OK(cuDeviceGetAttribute(&major, 75, 0));
    CHECK(cuMemAlloc_v2(&at, 8), 201);
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuCtxGetCurrent(&current));
    TRUE(current == context && current != primary);
    launches(context);
    launches(primary);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) OK(pthread_create(&threads[i], NULL, in_thread, i % 2 ? context : primary));
    for (int i = 0; i < 4; i++) OK(pthread_join(threads[i], NULL));
    OK(cuCtxSetCurrent(context));
    symbols();
    linked();
    wrong_uses(context);
    forked();
    OK(cuCtxDestroy_v2(context));
    CHECK(cuCtxSetCurrent(context), 201);
    OK(cuDevicePrimaryCtxRelease_v2(0));
    printf("the driver answers on %s, compute capability %d\n", name, major);
    return 0;
}
