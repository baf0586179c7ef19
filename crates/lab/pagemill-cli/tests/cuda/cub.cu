// CUB and Thrust as the toolkit ships them.
#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/inner_product.h>
#include <thrust/sort.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

static int wrong = 0;

// Calls `work` twice, as CUB wants it: for the size of its memory, and to do it.
template <typename F>
static void with_memory(F work) {
    void *memory = nullptr;
    size_t bytes = 0;
    wrong += work(memory, bytes) != cudaSuccess;
    wrong += cudaMalloc(&memory, bytes) != cudaSuccess;
    wrong += work(memory, bytes) != cudaSuccess;
    wrong += cudaFree(memory) != cudaSuccess;
}

int main() {
    const int count = 20000;
    std::vector<int> host(count), back(count), expected(count);
    for (int i = 0; i < count; i++) host[i] = int((i * 7919LL) % 10007) - 5000;
    thrust::device_vector<int> in(host.begin(), host.end()), out(count);
    int *from = thrust::raw_pointer_cast(in.data()), *to = thrust::raw_pointer_cast(out.data());
    auto compare = [&](const char *what) {
        thrust::copy(out.begin(), out.end(), back.begin());
        if (back != expected) printf("%s is wrong\n", what), wrong++;
    };

    with_memory([&](void *memory, size_t &bytes) {
        return cub::DeviceScan::ExclusiveSum(memory, bytes, from, to, count);
    });
    for (int i = 0, sum = 0; i < count; sum += host[i++]) expected[i] = sum;
    compare("the scan");
    with_memory([&](void *memory, size_t &bytes) {
        return cub::DeviceRadixSort::SortKeys(memory, bytes, from, to, count);
    });
    expected = host;
    std::sort(expected.begin(), expected.end());
    compare("the sort");
    with_memory([&](void *memory, size_t &bytes) { return cub::DeviceReduce::Max(memory, bytes, from, to, count); });
    int most = out[0];
    wrong += most != expected.back();

    thrust::copy(in.begin(), in.end(), out.begin());
    thrust::sort(out.begin(), out.end(), [] __device__(int a, int b) { return a % 100 != b % 100 ? a % 100 < b % 100 : a < b; });
    std::sort(expected.begin(), expected.end(), [](int a, int b) { return a % 100 != b % 100 ? a % 100 < b % 100 : a < b; });
    compare("the sort by a comparison");
    long long product = thrust::inner_product(in.begin(), in.end(), in.begin(), 0LL);
    for (int value : host) product -= (long long)value * value;
    wrong += product != 0;
    printf("CUB and Thrust, %d wrong\n", wrong);
    return wrong != 0;
}
