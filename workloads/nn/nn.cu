// arch: compute_75
// nvcc: -fmad=false
// Forward pass of a small convolutional network (after Simard, Steinkraus and Platt, ICDAR 2003): two convolutions with
// stride 2, two fully connected layers. One thread a neuron. The weights of a neuron or map start with its bias.
// Loops stay loops, as the compilers of the suite's time left them: its instruction count depends on it.

#define KERNEL 5
#define STRIDE 2

// 2 to the power x by ordinary arithmetic, so that the CPU reference can do the same operations.
__device__ __forceinline__ float power_of_two(float x)
{
    x = x < -126.0f ? -126.0f : x;
    x = x > 126.0f ? 126.0f : x;
    float whole = rintf(x);
    float f = x - whole;
    float p = 1.5403530e-4f;
    p = p * f + 1.3333558e-3f;
    p = p * f + 9.6181291e-3f;
    p = p * f + 5.5504109e-2f;
    p = p * f + 2.4022651e-1f;
    p = p * f + 6.9314718e-1f;
    p = p * f + 1.0f;
    return p * __int_as_float(((int)whole + 127) << 23);
}

// 1.7159 tanh(2 x / 3)
__device__ __forceinline__ float activation(float x)
{
    float e = power_of_two(1.9235934f * x);
    return 1.7159f * (1.0f - 2.0f / (e + 1.0f));
}

// Block (map, digit), thread (x, y) of that map.
extern "C" __global__ void nn_convolve(const float *weights, const float *from, float *to, int from_maps, int from_side)
{
    int side = blockDim.x;
    const float *weight = weights + blockIdx.x * (1 + from_maps * KERNEL * KERNEL);
    const float *corner = from + (size_t)blockIdx.y * from_maps * from_side * from_side;
    corner += threadIdx.y * STRIDE * from_side + threadIdx.x * STRIDE;

    float sum = *weight++;
    for (int map = 0; map < from_maps; map++) {
#pragma unroll 1
        for (int y = 0; y < KERNEL; y++)
            for (int x = 0; x < KERNEL; x++)
                sum = sum + *weight++ * corner[y * from_side + x];
        corner += from_side * from_side;
    }
    size_t plane = (size_t)blockIdx.y * gridDim.x + blockIdx.x;
    to[plane * side * side + threadIdx.y * side + threadIdx.x] = activation(sum);
}

// Block (neuron, digit), a single thread.
extern "C" __global__ void nn_connect(const float *weights, const float *from, float *to, int from_count)
{
    const float *weight = weights + blockIdx.x * (1 + from_count);
    const float *input = from + (size_t)blockIdx.y * from_count;

    float sum = *weight++;
#pragma unroll 1
    for (int i = 0; i < from_count; i++)
        sum = sum + weight[i] * input[i];
    to[(size_t)blockIdx.y * gridDim.x + blockIdx.x] = activation(sum);
}
