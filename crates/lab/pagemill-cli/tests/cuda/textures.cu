// Texture fetches of every kind against what the programming guide says they return, computed on the CPU.
#include <cuda_fp16.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

static int wrong = 0, checked = 0;
#define OK(call)                                                                                          \
    do {                                                                                                  \
        cudaError_t status = (call);                                                                      \
        if (status != cudaSuccess) printf("line %d: %s\n", __LINE__, cudaGetErrorName(status)), wrong++; \
    } while (0)

const int width = 37, height = 11, depth = 5;

static float texel(int x, int y, int z) { return float((x * 7 + y * 13 + z * 29) % 50) / 4; }

// The index that an addressing mode makes of one outside; -1 for the border.
static int resolve(int i, int n, cudaTextureAddressMode mode, bool normalized) {
    if (i >= 0 && i < n) return i;
    if (mode == cudaAddressModeBorder) return -1;
    if (mode == cudaAddressModeWrap && normalized) return ((i % n) + n) % n;
    if (mode == cudaAddressModeMirror && normalized) {
        int m = ((i % (2 * n)) + 2 * n) % (2 * n);
        return m < n ? m : 2 * n - 1 - m;
    }
    return i < 0 ? 0 : n - 1;
}

struct Setting {
    cudaTextureAddressMode mode;
    bool linear, normalized;
};

// The same fetch, with coordinates of double precision.
static double reference(const Setting &set, double x, double y, double z, int dimensions) {
    const int n[3] = {width, height, depth};
    double at[3] = {x, y, z}, weight[3];
    int low[3];
    for (int axis = 0; axis < 3; axis++) {
        if (set.normalized) at[axis] *= n[axis];
        if (set.linear) at[axis] -= 0.5;
        low[axis] = int(std::floor(at[axis]));
        weight[axis] = set.linear ? at[axis] - low[axis] : 0;
        if (axis >= dimensions) low[axis] = 0, weight[axis] = 0;
    }
    double sum = 0;
    for (int corner = 0; corner < (set.linear ? 1 << dimensions : 1); corner++) {
        double part = 1;
        int index[3];
        bool border = false;
        for (int axis = 0; axis < 3; axis++) {
            int upper = corner >> axis & 1;
            if (axis < dimensions) part *= upper ? weight[axis] : 1 - weight[axis];
            index[axis] = axis < dimensions ? resolve(low[axis] + upper, n[axis], set.mode, set.normalized) : 0;
            border |= index[axis] < 0;
        }
        sum += part * (border ? 2.5 : texel(index[0], index[1], index[2]));
    }
    return sum;
}

__global__ void fetch(cudaTextureObject_t texture, int dimensions, const float3 *at, float *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float3 p = at[i];
    if (dimensions == 1) out[i] = tex1D<float>(texture, p.x);
    if (dimensions == 2) out[i] = tex2D<float>(texture, p.x, p.y);
    if (dimensions == 3) out[i] = tex3D<float>(texture, p.x, p.y, p.z);
}

static cudaTextureDesc describe(const Setting &set) {
    cudaTextureDesc desc = {};
    for (auto &mode : desc.addressMode) mode = set.mode;
    desc.filterMode = set.linear ? cudaFilterModeLinear : cudaFilterModePoint;
    desc.normalizedCoords = set.normalized;
    desc.borderColor[0] = 2.5f;
    return desc;
}

static void compare(cudaResourceDesc &resource, const Setting &set, int dimensions) {
    const int count = 700;
    cudaTextureDesc desc = describe(set);
    cudaTextureObject_t texture = 0;
    OK(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
    float3 *at;
    float *out;
    OK(cudaMallocManaged(&at, count * sizeof(float3)));
    OK(cudaMallocManaged(&out, count * sizeof(float)));
    for (int i = 0; i < count; i++) {
        // From outside on one side to outside on the other, in steps of 1/64 of a texel off the boundaries.
        auto place = [&](int step, int n) {
            float texels = float((i * step) % (n * 3 * 16)) / 16 - n + 1.0f / 64;
            return set.normalized ? texels / n : texels;
        };
        at[i] = {place(5, width), place(7, height), place(11, depth)};
    }
    fetch<<<(count + 127) / 128, 128>>>(texture, dimensions, at, out, count);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++, checked++) {
        double expected = reference(set, at[i].x, at[i].y, at[i].z, dimensions);
        // Weights have 8 bits behind the point.
        double slack = set.linear ? 12.5 * dimensions / 512 + 1e-3 : 0;
        if (!(std::fabs(out[i] - expected) <= slack)) {
            if (wrong++ < 5)
                printf("%dD mode %d linear %d normalized %d at (%g, %g, %g): %g, not %g\n", dimensions, set.mode,
                       set.linear, set.normalized, at[i].x, at[i].y, at[i].z, out[i], expected);
        }
    }
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFree(at));
    OK(cudaFree(out));
}

static void filtering() {
    std::vector<float> values(width * height * depth);
    for (int z = 0; z < depth; z++)
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) values[(z * height + y) * width + x] = texel(x, y, z);
    auto format = cudaCreateChannelDesc<float>();
    cudaArray_t line, plane, box;
    OK(cudaMallocArray(&line, &format, width));
    OK(cudaMallocArray(&plane, &format, width, height));
    OK(cudaMalloc3DArray(&box, &format, make_cudaExtent(width, height, depth)));
    const size_t row = width * sizeof(float);
    OK(cudaMemcpy2DToArray(line, 0, 0, values.data(), row, row, 1, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DToArray(plane, 0, 0, values.data(), row, row, height, cudaMemcpyHostToDevice));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(values.data(), row, width, height);
    copy.dstArray = box;
    copy.extent = make_cudaExtent(width, height, depth);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    float *pitched;
    size_t pitch;
    OK(cudaMallocPitch(&pitched, &pitch, row, height));
    OK(cudaMemcpy2D(pitched, pitch, values.data(), row, row, height, cudaMemcpyHostToDevice));

    cudaResourceDesc resources[4] = {};
    cudaArray_t arrays[] = {line, plane, box};
    for (int i = 0; i < 3; i++) {
        resources[i].resType = cudaResourceTypeArray;
        resources[i].res.array.array = arrays[i];
    }
    resources[3].resType = cudaResourceTypePitch2D;
    resources[3].res.pitch2D = {pitched, format, size_t(width), size_t(height), pitch};
    const cudaTextureAddressMode modes[] = {cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror,
                                            cudaAddressModeBorder};
    for (auto mode : modes)
        for (int linear = 0; linear < 2; linear++)
            for (int normalized = 0; normalized < 2; normalized++)
                for (int i = 0; i < 4; i++) compare(resources[i], {mode, linear != 0, normalized != 0}, i < 3 ? i + 1 : 2);

    // What went in comes out, also in parts.
    std::vector<float> back(width * height, -1.0f);
    OK(cudaMemcpy2DFromArray(back.data(), row, plane, 0, 0, row, height, cudaMemcpyDeviceToHost));
    for (int i = 0; i < width * height; i++, checked++) wrong += back[i] != values[i];
    cudaArray_t other;
    OK(cudaMallocArray(&other, &format, width, height));
    OK(cudaMemcpy2DArrayToArray(other, 8, 1, plane, 4, 2, 5 * sizeof(float), 3));
    OK(cudaMemcpy2DFromArray(back.data(), 20, other, 8, 1, 20, 3, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 15; i++, checked++) wrong += back[i] != texel(1 + i % 5, 2 + i / 5, 0);
    cudaChannelFormatDesc found;
    cudaExtent extent;
    unsigned flags = 9;
    OK(cudaArrayGetInfo(&found, &extent, &flags, plane));
    wrong += found.x != 32 || found.f != cudaChannelFormatKindFloat || extent.width != width || extent.depth != 0 || flags;
    for (auto array : {line, plane, box, other}) OK(cudaFreeArray(array));
    OK(cudaFree(pitched));
}

__global__ void formats(cudaTextureObject_t bytes, cudaTextureObject_t fractions, cudaTextureObject_t shorts,
                        cudaTextureObject_t halves, cudaTextureObject_t linear, float *out) {
    uchar4 raw = tex2D<uchar4>(bytes, 2.5f, 1.5f);
    float4 fraction = tex2D<float4>(fractions, 2.5f, 1.5f);
    out[0] = raw.x, out[1] = raw.w, out[2] = fraction.y, out[3] = fraction.w;
    out[4] = tex1D<float>(shorts, 0.5f), out[5] = tex1D<float>(shorts, 1.5f);
    out[6] = tex1D<float>(halves, 1.5f);
    out[7] = tex1Dfetch<int2>(linear, 3).y, out[8] = tex1Dfetch<int2>(linear, 99).y;
    out[9] = tex2DLod<float4>(fractions, 0.5f, 0.5f, 0.0f).x;
}

template <typename T>
static cudaTextureObject_t array_texture(const std::vector<T> &values, size_t columns, cudaTextureReadMode read,
                                         cudaChannelFormatDesc format = cudaCreateChannelDesc<T>()) {
    cudaArray_t array;
    size_t rows = values.size() / columns;
    OK(cudaMallocArray(&array, &format, columns, rows > 1 ? rows : 0));
    // Rows are broken across the copy's two parts.
    size_t first = 3 * sizeof(T), bytes = values.size() * sizeof(T);
    first = first < bytes ? first : sizeof(T);
    OK(cudaMemcpyToArray(array, 0, 0, values.data(), first, cudaMemcpyHostToDevice));
    OK(cudaMemcpyToArray(array, first, 0, (const char *)values.data() + first, bytes - first, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc desc = {};
    desc.readMode = read;
    desc.addressMode[0] = desc.addressMode[1] = cudaAddressModeClamp;
    cudaTextureObject_t texture = 0;
    OK(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
    return texture;
}

static void check_formats() {
    std::vector<uchar4> bytes;
    for (int i = 0; i < 12; i++) bytes.push_back(make_uchar4(i, 51, 2 * i, 255));
    std::vector<short> shorts = {-32768, 32767};
    std::vector<__half> halves = {__float2half(1.0f), __float2half(-0.375f)};
    int2 *values;
    OK(cudaMallocManaged(&values, 8 * sizeof(int2)));
    for (int i = 0; i < 8; i++) values[i] = {i, -i};
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear = {values, cudaCreateChannelDesc<int2>(), 8 * sizeof(int2)};
    cudaTextureDesc desc = {};
    cudaTextureObject_t linear = 0;
    OK(cudaCreateTextureObject(&linear, &resource, &desc, nullptr));
    float *out;
    OK(cudaMallocManaged(&out, 10 * sizeof(float)));
    formats<<<1, 1>>>(array_texture(bytes, 4, cudaReadModeElementType),
                      array_texture(bytes, 4, cudaReadModeNormalizedFloat),
                      array_texture(shorts, 2, cudaReadModeNormalizedFloat),
                      array_texture(halves, 2, cudaReadModeElementType, cudaCreateChannelDescHalf()), linear, out);
    OK(cudaDeviceSynchronize());
    const float expected[] = {6, 255, 0.2f, 1, -1, 1, -0.375f, -3, 0, 0};
    for (int i = 0; i < 10; i++, checked++) {
        if (out[i] != expected[i]) printf("format %d: %g, not %g\n", i, out[i], expected[i]), wrong++;
    }
    // What the texels do not allow.
    desc.filterMode = cudaFilterModeLinear;
    wrong += cudaCreateTextureObject(&linear, &resource, &desc, nullptr) != cudaErrorInvalidFilterSetting;
    desc = {};
    desc.readMode = cudaReadModeNormalizedFloat;
    wrong += cudaCreateTextureObject(&linear, &resource, &desc, nullptr) != cudaErrorInvalidNormSetting;
    resource.res.linear.desc.y = 16;
    wrong += cudaCreateTextureObject(&linear, &resource, &desc, nullptr) != cudaErrorInvalidChannelDescriptor;
    cudaGetLastError();
}

// Layers, surfaces and gathering: each thread moves one texel of a layered array to its place mirrored in the next layer.
__global__ void mirror(cudaTextureObject_t from, cudaSurfaceObject_t to) {
    int x = threadIdx.x, y = blockIdx.x, layer = blockIdx.y;
    float value = tex2DLayered<float>(from, x, y, layer);
    surf2DLayeredwrite(value, to, (width - 1 - x) * sizeof(float), y, (layer + 1) % depth);
}

__global__ void surfaces(cudaSurfaceObject_t surface, cudaTextureObject_t texture, float4 *out) {
    float4 *at = out;
    float value;
    surf2DLayeredread(&value, surface, -8, 3, 1, cudaBoundaryModeClamp);
    at->x = value;
    surf2DLayeredread(&value, surface, 4096, 3, 1, cudaBoundaryModeZero);
    at->y = value;
    surf2DLayeredwrite(77.0f, surface, 4096, 3, 1, cudaBoundaryModeZero);
    out[1] = tex2Dgather<float4>(texture, 4.0f, 2.0f, 0);
}

static void check_surfaces() {
    auto format = cudaCreateChannelDesc<float>();
    cudaArray_t from, to, plane;
    auto extent = make_cudaExtent(width, height, depth);
    OK(cudaMalloc3DArray(&from, &format, extent, cudaArrayLayered));
    OK(cudaMalloc3DArray(&to, &format, extent, cudaArrayLayered | cudaArraySurfaceLoadStore));
    OK(cudaMallocArray(&plane, &format, width, height, cudaArrayTextureGather));
    std::vector<float> values(width * height * depth), back(values.size());
    for (size_t i = 0; i < values.size(); i++) values[i] = texel(i % width, i / width % height, i / width / height);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(values.data(), width * sizeof(float), width, height);
    copy.dstArray = from;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    OK(cudaMemcpyToArray(plane, 0, 0, values.data(), width * height * sizeof(float), cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = from;
    cudaTextureDesc desc = {};
    cudaTextureObject_t texture, gathered;
    cudaSurfaceObject_t surface;
    OK(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
    resource.res.array.array = plane;
    OK(cudaCreateTextureObject(&gathered, &resource, &desc, nullptr));
    resource.res.array.array = to;
    OK(cudaCreateSurfaceObject(&surface, &resource));
    mirror<<<dim3(height, depth), width>>>(texture, surface);
    float4 *out;
    OK(cudaMallocManaged(&out, 2 * sizeof(float4)));
    surfaces<<<1, 1>>>(surface, gathered, out);
    copy = {};
    copy.srcArray = to;
    copy.dstPtr = make_cudaPitchedPtr(back.data(), width * sizeof(float), width, height);
    copy.extent = extent;
    copy.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&copy));
    for (size_t i = 0; i < back.size(); i++, checked++) {
        int x = i % width, y = i / width % height, layer = i / width / height;
        wrong += back[i] != texel(width - 1 - x, y, (layer + depth - 1) % depth);
    }
    const float expected[] = {texel(width - 1, 3, 0), 0, texel(3, 2, 0), texel(4, 2, 0), texel(4, 1, 0), texel(3, 1, 0)};
    const float found[] = {out[0].x, out[0].y, out[1].x, out[1].y, out[1].z, out[1].w};
    for (int i = 0; i < 6; i++, checked++) {
        if (found[i] != expected[i]) printf("surface %d: %g, not %g\n", i, found[i], expected[i]), wrong++;
    }
    OK(cudaDestroySurfaceObject(surface));
    OK(cudaDestroyTextureObject(texture));
    OK(cudaDestroyTextureObject(gathered));
}

int main() {
    filtering();
    check_formats();
    check_surfaces();
    printf("%d of %d wrong\n", wrong, checked);
    return wrong != 0;
}
