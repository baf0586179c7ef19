// A program of CUDA 12 without nvcc: PTX from the run-time compiler, launched through the library functions of the runtime.
#include <cuda_runtime_api.h>
#include <nvrtc.h>

#include <cstdio>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if (cudaError_t status = (call)) return printf("%s: %s\n", #call, cudaGetErrorName(status)), 1;                \
    } while (0)

int main(int count_of_arguments, char **) {
    // With an argument: what the run-time compiler gives as machine code.
    bool machine_code = count_of_arguments > 1;
    const char *source = "extern \"C\" __global__ void square(const int *in, int *out, int count) {\n"
                         "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                         "    if (i < count) out[i] = in[i] * in[i];\n"
                         "}\n";
    nvrtcProgram program;
    const char *options[] = {machine_code ? "--gpu-architecture=sm_75" : "--gpu-architecture=compute_75"};
    size_t bytes = 0;
    if (nvrtcCreateProgram(&program, source, "square.cu", 0, nullptr, nullptr) ||
        nvrtcCompileProgram(program, 1, options) ||
        (machine_code ? nvrtcGetCUBINSize : nvrtcGetPTXSize)(program, &bytes)) {
        return printf("nvrtc failed\n"), 1;
    }
    std::vector<char> ptx(bytes);
    if ((machine_code ? nvrtcGetCUBIN : nvrtcGetPTX)(program, ptx.data())) return printf("nvrtc gives nothing\n"), 1;

    int version = 0;
    CHECK(cudaRuntimeGetVersion(&version));
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    cudaLibrary_t library;
    cudaKernel_t square;
    CHECK(cudaLibraryLoadData(&library, ptx.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK(cudaLibraryGetKernel(&square, library, "square"));
    int count = 1000, *in, *out;
    CHECK(cudaMallocManaged((void **)&in, count * sizeof(int), cudaMemAttachGlobal));
    CHECK(cudaMallocManaged((void **)&out, count * sizeof(int), cudaMemAttachGlobal));
    for (int i = 0; i < count; i++) in[i] = i - 500;
    CHECK(cudaMemPrefetchAsync(in, count * sizeof(int), 0, nullptr));
    void *arguments[] = {&in, &out, &count};
    CHECK(cudaLaunchKernel((const void *)square, dim3(8), dim3(128), arguments, 0, nullptr));
    CHECK(cudaDeviceSynchronize());
    int wrong = 0;
    for (int i = 0; i < count; i++) wrong += out[i] != (i - 500) * (i - 500);
    printf("CUDA %d, %d SMs at %d kHz, %d wrong\n", version / 1000, properties.multiProcessorCount,
           properties.clockRate, wrong);
    return wrong != 0;
}
