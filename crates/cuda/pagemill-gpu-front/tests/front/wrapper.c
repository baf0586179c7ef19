/* A library of another tool, with a function of the driver's name in front of the driver's. */
#include <dlfcn.h>
#include <stdio.h>

typedef int (*launch_t)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                        void **);

int cuLaunchKernel(void *kernel, unsigned x, unsigned y, unsigned z, unsigned i, unsigned j, unsigned k,
                   unsigned shared, void *stream, void **values, void **extra) {
    launch_t real = (launch_t)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchKernel");
    puts("wrapper");
    fflush(stdout);
    return real(kernel, x, y, z, i, j, k, shared, stream, values, extra);
}
