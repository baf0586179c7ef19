/* A program of the driver API with managed memory: each of two launches reads one page in four of the first allocation, and adds to the
 * second. Prints the sum. With OF_GPU in its environment, the first allocation is memory of the GPU, four times as large. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long address;
typedef void *handle;

enum { PAGES = 1024, WORDS = 1024 };

static const char *gather = ".version 7.0\n.target sm_75\n.address_size 64\n"
                            ".visible .entry gather(.param .u64 from, .param .u64 to, .param .u32 first)\n{\n"
                            ".reg .b32 %r<8>; .reg .b64 %d<8>;\n"
                            "ld.param.u64 %d1, [from]; ld.param.u64 %d2, [to]; ld.param.u32 %r1, [first];\n"
                            "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
                            "mad.lo.u32 %r5, %r2, %r3, %r4;\n"
                            /* Word 0 of page 4 i + first. */
                            "shl.b32 %r6, %r5, 2; add.u32 %r6, %r6, %r1;\n"
                            "mul.wide.u32 %d3, %r6, 4096; add.u64 %d1, %d1, %d3;\n"
                            "ld.global.u32 %r7, [%d1];\n"
                            "mul.wide.u32 %d4, %r5, 4; add.u64 %d2, %d2, %d4;\n"
                            "ld.global.u32 %r3, [%d2]; add.u32 %r3, %r3, %r7; st.global.u32 [%d2], %r3;\nret;\n}\n";

static handle library;

static void *find(const char *name) {
    void *found = dlsym(library, name);
    if (!found) printf("no %s\n", name), exit(1);
    return found;
}

#define CALL(name, ...)                                                                                                \
    do {                                                                                                               \
        int got = ((int (*)())find(#name))(__VA_ARGS__);                                                               \
        if (got) printf(#name " gives %d\n", got), exit(1);                                                            \
    } while (0)

int main(void) {
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return puts("no driver"), 1;
    int device;
    handle context, module, kernel;
    CALL(cuInit, 0);
    CALL(cuDeviceGet, &device, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, device);
    CALL(cuCtxSetCurrent, context);
    CALL(cuModuleLoadData, &module, gather);
    CALL(cuModuleGetFunction, &kernel, module, "gather");
    address from, to;
    size_t from_bytes = (size_t)PAGES * WORDS * 4, to_bytes = PAGES;
    if (getenv("OF_GPU"))
        CALL(cuMemAlloc_v2, &from, 4 * from_bytes);
    else
        CALL(cuMemAllocManaged, &from, from_bytes, 1);
    CALL(cuMemAllocManaged, &to, to_bytes, 1);
    unsigned *data = (unsigned *)from, *sums = (unsigned *)to;
    for (int i = 0; i < PAGES * WORDS; i++) data[i] = (unsigned)(i / WORDS);
    for (int i = 0; i < PAGES / 4; i++) sums[i] = 0;
    for (unsigned first = 0; first < 2; first++) {
        void *values[] = {&from, &to, &first};
        int (*launch)(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **,
                      void **) = (int (*)(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                          handle, void **, void **))find("cuLaunchKernel");
        if (launch(kernel, 2, 1, 1, 128, 1, 1, 0, NULL, values, NULL)) return puts("no launch"), 1;
    }
    CALL(cuCtxSynchronize);
    unsigned long long sum = 0;
    for (int i = 0; i < PAGES / 4; i++) sum += sums[i];
    printf("sum %llu\n", sum);
    CALL(cuMemFree_v2, from);
    CALL(cuMemFree_v2, to);
    return 0;
}
