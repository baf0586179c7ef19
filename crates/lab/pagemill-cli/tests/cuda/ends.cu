// Launches kernels, and ends in the way that the first argument names; the second is how many launches there are.

#include <cassert>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sys/wait.h>
#include <unistd.h>

__global__ void count_up(int* data)
{
    data[threadIdx.x] += 1;
}

__global__ void never_ends(volatile int* data)
{
    while (data[0] >= 0)
        data[0] = (data[0] + 1) & 255;
}

int main(int argc, char** argv)
{
    const char* how = argc > 1 ? argv[1] : "";
    auto is = [&](const char* name) { return strcmp(how, name) == 0; };
    if (is("fork-before") && fork() != 0) {
        wait(nullptr);
        return 0;
    }
    int* data;
    cudaMallocManaged(&data, 256);
    for (int launches = argc > 2 ? atoi(argv[2]) : 3; launches > 0; --launches)
        count_up<<<1, 64>>>(data);
    cudaDeviceSynchronize();
    printf("launched\n");
    fflush(stdout);
    if (is("fork-after") && fork() == 0)
        _exit(0);
    if (is("abort"))
        abort();
    else if (is("assert"))
        assert(data == nullptr);
    else if (is("terminate"))
        std::terminate();
    else if (is("_exit") || is("fork-before"))
        _exit(3);
    else if (is("_exit-well"))
        _exit(0);
    else if (is("quick_exit"))
        quick_exit(4);
    else if (is("segv"))
        *reinterpret_cast<volatile int*>(8) = 1;
    else if (is("term"))
        raise(SIGTERM);
    else if (is("kill"))
        raise(SIGKILL);
    else if (is("exec"))
        execlp("true", "true", nullptr);
    else if (is("endless")) {
        never_ends<<<1, 1>>>(data);
        cudaDeviceSynchronize();
    }
    return 0;
}
