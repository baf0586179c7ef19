/* A program of libnvJitLink: finds the library loaded, links PTX of two sources, launches it, and breaks the rules. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;

static int (*create)(handle *, uint32_t, const char **);
static int (*destroy)(handle *);
static int (*add_data)(handle, int, const void *, size_t, const char *);
static int (*add_file)(handle, int, const char *);
static int (*complete)(handle);
static int (*cubin_bytes)(handle, size_t *);
static int (*cubin)(handle, void *);
static int (*ptx_bytes)(handle, size_t *);
static int (*errors_bytes)(handle, size_t *);
static int (*errors)(handle, char *);
static int (*version)(unsigned *, unsigned *);

#define TRUE(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("line %d: not so: %s\n", __LINE__, #condition);                                                     \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define OK(call) TRUE((call) == 0)

static const char caller[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b32 r) twice(.param .b32 a);\n"
    ".visible .entry get(.param .u64 p)\n{\n.reg .b32 %r<3>; .reg .b64 %d;\n"
    "ld.param.u64 %d, [p]; ld.global.u32 %r1, [%d];\n"
    "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call (r), twice, (a); ld.param.b32 %r2, [r]; }\n"
    "st.global.u32 [%d], %r2; ret;\n}\n";
static const char owner[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                            ".visible .func (.param .b32 r) twice(.param .b32 a)\n{\n.reg .b32 %r;\n"
                            "ld.param.b32 %r, [a]; add.u32 %r, %r, %r; st.param.b32 [r], %r; ret;\n}\n";

static void *function(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        printf("there is no %s\n", name);
        exit(1);
    }
    return found;
}

static void load_functions(void *linker, const char *suffix, const char *prefix) {
    char name[100];
#define LOAD(pointer, base)                                                                                            \
    snprintf(name, sizeof name, "%snvJitLink" base "%s", prefix, suffix);                                              \
    *(void **)&pointer = function(linker, name);
    LOAD(create, "Create")
    LOAD(destroy, "Destroy")
    LOAD(add_data, "AddData")
    LOAD(add_file, "AddFile")
    LOAD(complete, "Complete")
    LOAD(cubin_bytes, "GetLinkedCubinSize")
    LOAD(cubin, "GetLinkedCubin")
    LOAD(ptx_bytes, "GetLinkedPtxSize")
    LOAD(errors_bytes, "GetErrorLogSize")
    LOAD(errors, "GetErrorLog")
    *(void **)&version = function(linker, "nvJitLinkVersion");
}

static void launch(const void *image) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    TRUE(driver);
#define DRIVER(name, arguments) int(*name) arguments = (int(*) arguments)function(driver, #name);
    DRIVER(cuInit, (unsigned))
    DRIVER(cuDevicePrimaryCtxRetain, (handle *, int))
    DRIVER(cuCtxSetCurrent, (handle))
    DRIVER(cuModuleLoadData, (handle *, const void *))
    DRIVER(cuModuleGetFunction, (handle *, handle, const char *))
    DRIVER(cuMemAlloc_v2, (unsigned long long *, size_t))
    DRIVER(cuMemcpyHtoD_v2, (unsigned long long, const void *, size_t))
    DRIVER(cuMemcpyDtoH_v2, (void *, unsigned long long, size_t))
    DRIVER(cuLaunchKernel,
           (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **))
    handle context, module, kernel;
    unsigned long long at;
    unsigned value = 21;
    void *pointers[] = {&at};
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, image));
    OK(cuModuleGetFunction(&kernel, module, "get"));
    OK(cuMemAlloc_v2(&at, 4));
    OK(cuMemcpyHtoD_v2(at, &value, 4));
    OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL));
    OK(cuMemcpyDtoH_v2(&value, at, 4));
    TRUE(value == 42);
}

static void link_and_launch(int kind) {
    const char *options[] = {"-arch=sm_75", "-maxrregcount=32"};
    handle link;
    size_t bytes, more;
    OK(create(&link, 2, options));
    OK(add_data(link, kind, caller, sizeof caller, "caller"));
    OK(add_data(link, 2, owner, strlen(owner), NULL));
    TRUE(cubin_bytes(link, &bytes) != 0);
    OK(complete(link));
    OK(cubin_bytes(link, &bytes));
    OK(ptx_bytes(link, &more));
    TRUE(bytes == more && bytes > strlen(owner));
    char *image = malloc(bytes);
    OK(cubin(link, image));
    OK(errors_bytes(link, &more));
    TRUE(more == 0);
    OK(destroy(&link));
    TRUE(link == NULL);
    launch(image);
    free(image);
}

static void wrong_uses(void) {
    handle link, gone;
    size_t bytes;
    char log[1000];
    OK(create(&link, 0, NULL));
    gone = link;
    TRUE(add_data(link, 1, "\177ELF\2\1\1", 7, "cubin") == 3);
    TRUE(add_data(link, 3, "code", 4, "for later") == 18);
    TRUE(add_data(link, 99, "x", 1, "no kind") == 3);
    TRUE(add_data(link, 2, NULL, 1, "nothing") == 10);
    TRUE(add_file(link, 2, "/no/such/file") == 3);
    OK(errors_bytes(link, &bytes));
    TRUE(bytes > 0 && bytes <= sizeof log);
    OK(errors(link, log));
    TRUE(strlen(log) + 1 == bytes && strstr(log, "cubin") && strstr(log, "link-time optimization"));
    TRUE(complete(link) == 3);
    TRUE(cubin_bytes(link, &bytes) == 3);
    TRUE(cubin_bytes(link, NULL) == 3);
    OK(destroy(&link));
    TRUE(destroy(&gone) == 3);
    TRUE(destroy(NULL) == 10);
    TRUE(complete(gone) == 3);
    TRUE(create(&link, 1, NULL) == 10);
    TRUE(create(NULL, 0, NULL) == 3);
}

int main(void) {
    const char *const libraries[] = {"libnvJitLink.so.12", "libnvJitLink.so.13"};
    const char *const suffixes[] = {"_12_4", "_13_0"};
    for (int i = 0; i < 2; i++) {
        unsigned major, minor;
        void *linker = dlopen(libraries[i], RTLD_NOW | RTLD_NOLOAD);
        TRUE(linker);
        load_functions(linker, "", "");
        OK(version(&major, &minor));
        TRUE(major == 12 && minor < 3);
        link_and_launch(2);
        wrong_uses();
        load_functions(linker, suffixes[i], "__");
        link_and_launch(10);
    }
    printf("the linker answers\n");
    return 0;
}
