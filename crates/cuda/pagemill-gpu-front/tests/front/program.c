/* A program that finds the driver in the way its first argument says, allocates twice, and launches as its second argument says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long address;
typedef void *handle;
typedef int (*allocate_t)(address *, size_t, unsigned);
typedef int (*launch_t)(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **,
                        void **);
typedef int (*find_t)(const char *, void **, int, unsigned long long, int *);

static allocate_t allocate;
static launch_t launch;
static int (*init)(unsigned), (*release)(address), (*wait_for)(void), (*graph)(handle, handle), (*future)(int);
static handle driver;

#ifdef LINKED
int cuInit(unsigned), cuMemFree_v2(address), cuCtxSynchronize(void), cuGraphLaunch(handle, handle), cuFutureCall(int);
int cuMemAllocManaged(address *, size_t, unsigned);
int cuLaunchKernel(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **,
                   void **);
#endif

static void *must(void *found) {
    if (!found) {
        puts("not found");
        exit(9);
    }
    return found;
}

static void *by(find_t find, const char *name, int version, int flags) {
    void *found = NULL;
    int status;
    find(name, &found, version, (unsigned long long)flags, &status);
    return must(found);
}

static void look(const char *how) {
#ifdef LINKED
    (void)how;
    init = cuInit, allocate = cuMemAllocManaged, launch = cuLaunchKernel, release = cuMemFree_v2;
    wait_for = cuCtxSynchronize, graph = cuGraphLaunch, future = cuFutureCall;
    return;
#endif
    driver = must(dlopen("libcuda.so.1", RTLD_NOW));
    init = (int (*)(unsigned))must(dlsym(driver, "cuInit"));
    release = (int (*)(address))must(dlsym(driver, "cuMemFree_v2"));
    wait_for = (int (*)(void))must(dlsym(driver, "cuCtxSynchronize"));
    graph = (int (*)(handle, handle))must(dlsym(driver, "cuGraphLaunch"));
    future = (int (*)(int))must(dlsym(driver, "cuFutureCall"));
    if (future != dlsym(driver, "cuFutureCall")) exit(8);
    find_t find = (find_t)must(dlsym(driver, "cuGetProcAddress_v2"));
    int version = !strcmp(how, "newer") ? 99000 : 12080, flags = !strcmp(how, "threads") ? 2 : 0;
    if (!strcmp(how, "symbols")) {
        allocate = (allocate_t)must(dlsym(driver, "cuMemAllocManaged"));
        launch = (launch_t)must(dlsym(driver, "cuLaunchKernel"));
    } else {
        /* As a runtime does: the function that finds others finds itself first. */
        find = (find_t)by(find, "cuGetProcAddress", 12080, 0);
        allocate = (allocate_t)by(find, "cuMemAllocManaged", 12080, 0);
        launch = (launch_t)by(find, "cuLaunchKernel", version, flags);
    }
}

/* Memory of the GPU in each way there is; stream 7 is recorded into a graph. */
static void ask_for_memory_of_the_gpu(void) {
    address at;
    size_t pitch;
    handle streams[] = {(handle)4, (handle)7};
    ((int (*)(address *, size_t))must(dlsym(driver, "cuMemAlloc_v2")))(&at, 100);
    ((int (*)(address *, size_t *, size_t, size_t, unsigned))must(dlsym(driver, "cuMemAllocPitch_v2")))(&at, &pitch,
                                                                                                        600, 3, 4);
    printf("pitch %zu\n", pitch);
    for (int i = 0; i < 2; i++) {
        ((int (*)(address *, size_t, handle))must(dlsym(driver, "cuMemAllocAsync")))(&at, 200, streams[i]);
        ((int (*)(address *, size_t, handle, handle))must(dlsym(driver, "cuMemAllocFromPoolAsync")))(&at, 300, NULL,
                                                                                                     streams[i]);
        ((int (*)(address, handle))must(dlsym(driver, "cuMemFreeAsync")))(at, streams[i]);
    }
    exit(0);
}

static int go(handle kernel, handle stream) { return launch(kernel, 3, 1, 1, 32, 1, 1, 0, stream, NULL, NULL); }
static void *go_there(void *stream) { return go((handle)1, stream), NULL; }

int main(int count, char **words) {
    const char *how = count > 1 ? words[1] : "symbols", *what = count > 2 ? words[2] : "plain";
    look(how);
    init(0);
    if (!strcmp(what, "device")) ask_for_memory_of_the_gpu();
    address first, second;
    allocate(&first, 8192, 1);
    allocate(&second, !strcmp(what, "other-size") ? 4097 : 4096, 1);
    if (!strcmp(what, "freed")) release(first);
    if (!strcmp(what, "capture")) go((handle)1, (handle)7);
    if (!strcmp(what, "graph")) graph((handle)5, NULL);
    if (!strcmp(what, "fails") && go(NULL, NULL) == 0) return 7;
    go((handle)1, NULL);
    if (!strcmp(what, "fork")) {
        if (!fork()) exit(0);
        wait(NULL);
    }
    if (!strcmp(what, "threads")) {
        pthread_t threads[8];
        for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, go_there, NULL);
        for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    } else
        go((handle)2, (handle)4);
    wait_for();
    if (future(42) != 0) return 6;
    release(second);
    if (dlsym(RTLD_DEFAULT, "pthread_create") == NULL || dlsym(RTLD_NEXT, "malloc") == NULL) return 5;
    return 0;
}
