#include <gtest/gtest.h>

#include <vector>

#include "saxpy.cuh"

// Memory of the GPU with what a vector holds.
class Buffer {
public:
    explicit Buffer(const std::vector<float> &values) : count_(values.size()) {
        EXPECT_EQ(cudaMalloc(&data_, bytes()), cudaSuccess);
        EXPECT_EQ(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), cudaSuccess);
    }
    ~Buffer() { cudaFree(data_); }
    float *data() const { return data_; }
    std::vector<float> values() const {
        std::vector<float> values(count_);
        EXPECT_EQ(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
        return values;
    }

private:
    size_t bytes() const { return count_ * sizeof(float); }
    size_t count_;
    float *data_ = nullptr;
};

class Saxpy : public testing::TestWithParam<int> {};

TEST_P(Saxpy, AddsAndSums) {
    const int n = GetParam(), blocks = (n + 255) / 256;
    std::vector<float> x(n), y(n);
    for (int i = 0; i < n; i++) x[i] = i % 7, y[i] = i % 5;
    Buffer on_gpu_x(x), on_gpu_y(y), sums(std::vector<float>(blocks, 0));
    saxpy<<<blocks, 256>>>(n, 2, on_gpu_x.data(), on_gpu_y.data(), sums.data());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    std::vector<float> wanted(blocks, 0), found = on_gpu_y.values();
    for (int i = 0; i < n; i++) {
        ASSERT_EQ(found[i], 2 * x[i] + y[i]) << "at " << i;
        wanted[i / 256] += found[i];
    }
    EXPECT_EQ(sums.values(), wanted);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Saxpy, testing::Values(1, 255, 256, 1000));
