// Mipmapped arrays, cubemaps and resource views. Prints a line for everything that is not as CUDA says.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "expect.cuh"

__global__ void by_level(cudaTextureObject_t texture, const float *levels, float *out, int count) {
    int i = threadIdx.x;
    if (i < count) out[i] = tex2DLod<float>(texture, 0.5f, 0.5f, levels[i]);
}
// Each step of a texel to the right on the screen goes `step` texels of the image.
__global__ void by_gradient(cudaTextureObject_t texture, const float *steps, float *out, int count) {
    int i = threadIdx.x;
    if (i < count) {
        float step = steps[i] / 16;
        out[i] = tex2DGrad<float>(texture, 0.5f, 0.5f, make_float2(step, 0), make_float2(0, step / 2));
    }
}
__global__ void plain(cudaTextureObject_t texture, float *out) { *out = tex2D<float>(texture, 0.5f, 0.5f); }
__global__ void paint(cudaSurfaceObject_t surface, float value, int width) {
    if (threadIdx.x < width && threadIdx.y < width) surf2Dwrite(value, surface, threadIdx.x * 4, threadIdx.y);
}
__global__ void on_cube(cudaTextureObject_t texture, const float4 *directions, float *out, int count, int layered) {
    int i = threadIdx.x;
    if (i >= count) return;
    float4 d = directions[i];
    out[i] = layered ? texCubemapLayered<float>(texture, d.x, d.y, d.z, int(d.w)) : texCubemap<float>(texture, d.x, d.y, d.z);
}
__global__ void write_faces(cudaSurfaceObject_t surface) {
    surfCubemapwrite(-1.0f * blockIdx.x, surface, 0, 0, blockIdx.x);
}
__global__ void as_integer(cudaTextureObject_t texture, unsigned *out) { *out = tex2D<unsigned>(texture, 0, 0); }
__global__ void of_layer(cudaTextureObject_t texture, int layer, float *out) { *out = tex2DLayered<float>(texture, 0.5f, 0.5f, layer); }

struct Device {
    float *values, *out;
    Device() {
        OK(cudaMalloc(&values, 4096));
        OK(cudaMalloc(&out, 4096));
    }
    std::vector<float> fetch(int count) {
        std::vector<float> found(count);
        OK(cudaMemcpy(found.data(), out, count * sizeof(float), cudaMemcpyDefault));
        return found;
    }
    void give(const void *from, size_t bytes) { OK(cudaMemcpy(values, from, bytes, cudaMemcpyDefault)); }
};

static cudaTextureDesc description() {
    cudaTextureDesc texture = {};
    texture.addressMode[0] = texture.addressMode[1] = texture.addressMode[2] = cudaAddressModeClamp;
    texture.normalizedCoords = 1;
    texture.maxMipmapLevelClamp = 9;
    return texture;
}

// A pyramid of 16 texels: level l has the value 10 (l + 1).
static void mipmaps(Device &device) {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMipmappedArray_t pyramid;
    EXPECT(cudaMallocMipmappedArray(&pyramid, &format, make_cudaExtent(16, 16, 0), 0) == cudaErrorInvalidValue);
    OK(cudaMallocMipmappedArray(&pyramid, &format, make_cudaExtent(16, 16, 0), 99, cudaArraySurfaceLoadStore));
    cudaArray_t level;
    for (int l = 0; l < 5; l++) {
        OK(cudaGetMipmappedArrayLevel(&level, pyramid, l));
        cudaExtent extent;
        cudaChannelFormatDesc own;
        unsigned flags;
        OK(cudaArrayGetInfo(&own, &extent, &flags, level));
        int width = 16 >> l;
        EXPECT(extent.width == width && extent.height == width && extent.depth == 0);
        float value = 10.0f * (l + 1);
        if (l % 2 == 0) {
            std::vector<float> texels(width * width, value);
            OK(cudaMemcpy2DToArray(level, 0, 0, texels.data(), width * 4, width * 4, width, cudaMemcpyDefault));
        } else {
            cudaResourceDesc resource = {};
            resource.resType = cudaResourceTypeArray;
            resource.res.array.array = level;
            cudaSurfaceObject_t surface;
            OK(cudaCreateSurfaceObject(&surface, &resource));
            paint<<<1, dim3(16, 16)>>>(surface, value, width);
            OK(cudaDestroySurfaceObject(surface));
        }
    }
    EXPECT(cudaGetMipmappedArrayLevel(&level, pyramid, 5) == cudaErrorInvalidValue);
    EXPECT(cudaFreeArray(level) == cudaErrorInvalidValue);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = pyramid;
    cudaSurfaceObject_t surface;
    EXPECT(cudaCreateSurfaceObject(&surface, &resource) == cudaErrorInvalidValue);
    cudaTextureDesc texture = description();
    cudaTextureObject_t object;
    auto levels = [&](std::vector<float> asked, std::vector<float> wanted, int line) {
        device.give(asked.data(), asked.size() * 4);
        by_level<<<1, 32>>>(object, device.values, device.out, asked.size());
        if (device.fetch(asked.size()) == wanted) return;
        printf("line %d: levels give", line), wrong++;
        for (float value : device.fetch(asked.size())) printf(" %g", value);
        printf("\n");
    };
    OK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
    levels({0, 0.4f, 0.6f, 2, 3.7f, 8, -1}, {10, 10, 20, 30, 50, 50, 10}, __LINE__);
    plain<<<1, 1>>>(object, device.out);
    EXPECT(device.fetch(1)[0] == 10);
    // The longer of both steps counts.
    float steps[] = {1, 2, 4, 16, 0.5f};
    device.give(steps, sizeof steps);
    by_gradient<<<1, 32>>>(object, device.values, device.out, 5);
    EXPECT(device.fetch(5) == std::vector<float>({10, 20, 30, 50, 10}));
    OK(cudaDestroyTextureObject(object));
    texture.mipmapFilterMode = cudaFilterModeLinear;
    texture.mipmapLevelBias = 1;
    texture.minMipmapLevelClamp = 1.5f;
    texture.maxMipmapLevelClamp = 3;
    OK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
    levels({0, 1, 1.25f, 2.5f}, {25, 30, 32.5f, 40}, __LINE__);
    OK(cudaDestroyTextureObject(object));
    // A view of two levels.
    cudaResourceViewDesc view = {};
    view.format = cudaResViewFormatFloat1;
    view.width = view.height = 16;
    view.firstMipmapLevel = 2;
    view.lastMipmapLevel = 3;
    texture = description();
    OK(cudaCreateTextureObject(&object, &resource, &texture, &view));
    levels({0, 1, 5}, {30, 40, 40}, __LINE__);
    OK(cudaDestroyTextureObject(object));
    view.lastMipmapLevel = 5;
    EXPECT(cudaCreateTextureObject(&object, &resource, &texture, &view) == cudaErrorInvalidValue);
    OK(cudaFreeMipmappedArray(pyramid));
    EXPECT(cudaFreeMipmappedArray(pyramid) != cudaSuccess);
}

// Faces of 2 x 2 texels: 100 layer + 10 face + texel.
static void cubes(Device &device) {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    for (int layers : {0, 2}) {
        int faces = 6 * (layers ? layers : 1);
        unsigned flags = cudaArrayCubemap | (layers ? cudaArrayLayered : 0) | cudaArraySurfaceLoadStore;
        cudaArray_t array;
        EXPECT(cudaMalloc3DArray(&array, &format, make_cudaExtent(2, 3, faces), flags) == cudaErrorInvalidValue);
        EXPECT(cudaMalloc3DArray(&array, &format, make_cudaExtent(2, 2, faces + 1), flags) == cudaErrorInvalidValue);
        OK(cudaMalloc3DArray(&array, &format, make_cudaExtent(2, 2, faces), flags));
        std::vector<float> texels(4 * faces);
        for (int i = 0; i < 4 * faces; i++) texels[i] = i / 24 * 100 + i / 4 % 6 * 10 + i % 4;
        cudaMemcpy3DParms copy = {};
        copy.srcPtr = make_cudaPitchedPtr(texels.data(), 8, 2, 2);
        copy.dstArray = array;
        copy.extent = make_cudaExtent(2, 2, faces);
        copy.kind = cudaMemcpyHostToDevice;
        OK(cudaMemcpy3D(&copy));
        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
        cudaTextureDesc texture = description();
        cudaTextureObject_t object;
        OK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
        // Every texel of every face, from the direction that leads there.
        std::vector<float4> directions;
        std::vector<float> wanted;
        for (int layer = 0; layer < (layers ? layers : 1); layer++) {
            for (int i = 0; i < 24; i++) {
                float s = i % 2 ? 0.5f : -0.5f, t = i % 4 / 2 ? 0.5f : -0.5f;
                float4 of_face[] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1}, {-s, -t, -1}};
                float4 direction = of_face[i / 4];
                directions.push_back(make_float4(3 * direction.x, 3 * direction.y, 3 * direction.z, layer));
                wanted.push_back(layer * 100 + i / 4 * 10 + i % 4);
            }
        }
        int count = directions.size();
        device.give(directions.data(), count * sizeof(float4));
        on_cube<<<1, 64>>>(object, (float4 *)device.values, device.out, count, layers);
        EXPECT(device.fetch(count) == wanted);
        OK(cudaDestroyTextureObject(object));
        cudaSurfaceObject_t surface;
        OK(cudaCreateSurfaceObject(&surface, &resource));
        write_faces<<<6, 1>>>(surface);
        OK(cudaDestroySurfaceObject(surface));
        copy.srcPtr = cudaPitchedPtr{};
        copy.srcArray = array;
        copy.dstArray = nullptr;
        copy.dstPtr = make_cudaPitchedPtr(texels.data(), 8, 2, 2);
        copy.kind = cudaMemcpyDeviceToHost;
        OK(cudaMemcpy3D(&copy));
        for (int face = 0; face < 6; face++) EXPECT(texels[4 * face] == -face && texels[4 * face + 1] == face * 10 + 1);
        OK(cudaFreeArray(array));
    }
}

static void views(Device &device) {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    OK(cudaMalloc3DArray(&array, &format, make_cudaExtent(4, 4, 3), cudaArrayLayered));
    std::vector<float> texels(48);
    for (int i = 0; i < 48; i++) texels[i] = 1 + i / 16;
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(texels.data(), 16, 4, 4);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(4, 4, 3);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc texture = description();
    cudaResourceViewDesc view = {};
    view.format = cudaResViewFormatUnsignedInt1;
    view.width = view.height = 4;
    view.depth = 3;
    view.firstLayer = 1;
    view.lastLayer = 2;
    cudaTextureObject_t object;
    OK(cudaCreateTextureObject(&object, &resource, &texture, &view));
    as_integer<<<1, 1>>>(object, (unsigned *)device.out);
    EXPECT(device.fetch(1)[0] == 2.0f);
    OK(cudaDestroyTextureObject(object));
    view.format = cudaResViewFormatNone;
    OK(cudaCreateTextureObject(&object, &resource, &texture, &view));
    for (int layer : {0, 1, 2}) {
        of_layer<<<1, 1>>>(object, layer, device.out);
        EXPECT(device.fetch(1)[0] == (layer ? 3 : 2));
    }
    OK(cudaDestroyTextureObject(object));
    view.format = cudaResViewFormatFloat2;
    EXPECT(cudaCreateTextureObject(&object, &resource, &texture, &view) == cudaErrorInvalidValue);
    view.format = cudaResViewFormatNone;
    view.lastLayer = 3;
    EXPECT(cudaCreateTextureObject(&object, &resource, &texture, &view) == cudaErrorInvalidValue);
    view.lastLayer = 2;
    view.width = 8;
    EXPECT(cudaCreateTextureObject(&object, &resource, &texture, &view) == cudaErrorInvalidValue);
    OK(cudaFreeArray(array));
}

int main() {
    Device device;
    mipmaps(device);
    cubes(device);
    views(device);
    printf("%d wrong, %s\n", wrong, cudaGetErrorName(cudaDeviceSynchronize()));
    return wrong != 0;
}
