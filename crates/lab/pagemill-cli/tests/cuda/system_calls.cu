// System calls into managed pages that are on the GPU.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

__global__ void add(char *values, int count, int by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += by;
}

static int wrong = 0;
#define EXPECT(condition) \
    if (!(condition)) printf("line %d: %s is false (errno %d)\n", __LINE__, #condition, errno), wrong++

int main() {
    const int count = 3 << 20;
    char *values;
    EXPECT(cudaMallocManaged(&values, count) == cudaSuccess);
    for (int i = 0; i < count; i++) values[i] = i % 100;
    FILE *stream = tmpfile();
    int file = fileno(stream);
    auto launch = [&](int by) {
        add<<<(count + 255) / 256, 256>>>(values, count, by);
        EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    };
    launch(1);
    // All of it is on the GPU: the kernel writes from there, reads to there.
    EXPECT(write(file, values, count) == count);
    launch(1);
    EXPECT(pread(file, values, count, 0) == count);
    for (int i = 0; i < count; i++) wrong += values[i] != i % 100 + 1;
    launch(2);
    EXPECT(fseek(stream, 0, SEEK_SET) == 0);
    EXPECT(fwrite(values, 1, count, stream) == size_t(count));
    EXPECT(fseek(stream, 0, SEEK_SET) == 0);
    launch(1);
    EXPECT(fread(values, 1, count, stream) == size_t(count));
    for (int i = 0; i < count; i++) wrong += values[i] != i % 100 + 3;
    fclose(stream);
    printf("system calls, %d wrong\n", wrong);
    return wrong != 0;
}
