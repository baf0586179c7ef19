// Memory and textures of the driver API, whose functions the runtime hands out by name.
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>

static int wrong = 0;

#define EXPECT(what)                                                                                                 \
    do {                                                                                                             \
        if (!(what)) {                                                                                               \
            wrong++;                                                                                                 \
            printf("line %d: %s\n", __LINE__, #what);                                                                \
        }                                                                                                            \
    } while (0)
#define OK(call) EXPECT((call) == 0)

// A function of the type of a null pointer.
template <typename Function> static Function *get(Function *, const char *name) {
    void *found = nullptr;
    cudaDriverEntryPointQueryResult verdict;
    OK(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &verdict));
    EXPECT(found != nullptr && verdict == cudaDriverEntryPointSuccess);
    return (Function *)found;
}

__global__ void count(int *at, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) at[i] += i;
}

static void virtual_memory() {
    auto reserve = get((CUresult(*)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long))nullptr, "cuMemAddressReserve");
    auto release_range = get((CUresult(*)(CUdeviceptr, size_t))nullptr, "cuMemAddressFree");
    auto create = get((CUresult(*)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *, unsigned long long))nullptr, "cuMemCreate");
    auto release = get((CUresult(*)(CUmemGenericAllocationHandle))nullptr, "cuMemRelease");
    auto map = get((CUresult(*)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long))nullptr, "cuMemMap");
    auto unmap = get((CUresult(*)(CUdeviceptr, size_t))nullptr, "cuMemUnmap");
    auto allow = get((CUresult(*)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t))nullptr, "cuMemSetAccess");
    auto granularity = get((CUresult(*)(size_t *, const CUmemAllocationProp *, CUmemAllocationGranularity_flags))nullptr, "cuMemGetAllocationGranularity");
    auto retain = get((CUresult(*)(CUmemGenericAllocationHandle *, void *))nullptr, "cuMemRetainAllocationHandle");

    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    size_t granule = 0, before, after, total;
    OK(granularity(&granule, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    EXPECT(granule > 0 && granule % 65536 == 0);
    OK(cudaMemGetInfo(&before, &total));
    CUdeviceptr range, other;
    OK(reserve(&range, 4 * granule, 0, 0, 0));
    OK(reserve(&other, granule, 0, 0, 0));
    EXPECT(range % granule == 0);
    EXPECT(reserve(&other, granule + 1, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE);
    CUmemGenericAllocationHandle first, second, same;
    OK(create(&first, granule, &properties, 0));
    OK(create(&second, 2 * granule, &properties, 0));
    OK(cudaMemGetInfo(&after, &total));
    EXPECT(before - after == 3 * granule);
    EXPECT(cudaMemset((void *)range, 0, 4) != cudaSuccess);
    cudaGetLastError();

    OK(map(range, granule, 0, first, 0));
    OK(map(range + granule, 2 * granule, 0, second, 0));
    EXPECT(map(range, granule, 0, second, 0) != CUDA_SUCCESS);
    EXPECT(map(range + 3 * granule, 2 * granule, 0, second, 0) != CUDA_SUCCESS);
    CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(allow(range, 3 * granule, &access, 1));
    EXPECT(allow(range, 4 * granule, &access, 1) == CUDA_ERROR_INVALID_VALUE);
    OK(retain(&same, (void *)(range + granule + 8)));
    EXPECT(same == second);
    OK(release(same));

    // One array over both: kernels see one range.
    int n = (int)(3 * granule / sizeof(int));
    OK(cudaMemset((void *)range, 0, granule));
    OK(cudaMemset((void *)(range + granule), 0, 2 * granule));
    count<<<(n + 255) / 256, 256>>>((int *)range, n);
    int found = 0, last = n - 1;
    OK(cudaMemcpy(&found, (int *)range + last, sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(found == last);

    // Memory keeps its bytes while it is not mapped, and is found where it is mapped next.
    OK(unmap(range, granule));
    EXPECT(cudaMemcpy(&found, (int *)range + 7, sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess);
    cudaGetLastError();
    OK(map(other, granule, 0, first, 0));
    OK(cudaMemcpy(&found, (int *)other + 7, sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(found == 7);
    EXPECT(cudaFree((void *)other) == cudaErrorInvalidValue);
    cudaGetLastError();
    EXPECT(release_range(other, granule) == CUDA_ERROR_INVALID_VALUE);

    // Released memory lives as long as it is mapped.
    OK(release(first));
    OK(release(second));
    OK(cudaMemcpy(&found, (int *)other + 9, sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(found == 9);
    OK(unmap(other, granule));
    OK(unmap(range + granule, 2 * granule));
    OK(release_range(other, granule));
    OK(release_range(range, 4 * granule));
    EXPECT(release(first) == CUDA_ERROR_INVALID_VALUE);
    OK(cudaMemGetInfo(&after, &total));
    EXPECT(before == after);
}

__global__ void fetch(cudaTextureObject_t texture, float *to) {
    to[threadIdx.x] = tex2D<float>(texture, threadIdx.x % 8 + 0.5f, threadIdx.x / 8 + 0.5f);
}

__global__ void touch(cudaSurfaceObject_t surface) {
    float value;
    surf2Dread(&value, surface, threadIdx.x % 8 * 4, threadIdx.x / 8);
    surf2Dwrite(2 * value, surface, threadIdx.x % 8 * 4, threadIdx.x / 8);
}

static void textures() {
    auto create = get((CUresult(*)(CUarray *, const CUDA_ARRAY3D_DESCRIPTOR *))nullptr, "cuArray3DCreate");
    auto create_flat = get((CUresult(*)(CUarray *, const CUDA_ARRAY_DESCRIPTOR *))nullptr, "cuArrayCreate");
    auto describe = get((CUresult(*)(CUDA_ARRAY3D_DESCRIPTOR *, CUarray))nullptr, "cuArray3DGetDescriptor");
    auto destroy = get((CUresult(*)(CUarray))nullptr, "cuArrayDestroy");
    auto to_array = get((CUresult(*)(CUarray, size_t, const void *, size_t))nullptr, "cuMemcpyHtoA");
    auto from_array = get((CUresult(*)(void *, CUarray, size_t, size_t))nullptr, "cuMemcpyAtoH");
    auto texture = get((CUresult(*)(CUtexObject *, const CUDA_RESOURCE_DESC *, const CUDA_TEXTURE_DESC *, const CUDA_RESOURCE_VIEW_DESC *))nullptr, "cuTexObjectCreate");
    auto no_texture = get((CUresult(*)(CUtexObject))nullptr, "cuTexObjectDestroy");
    auto surface = get((CUresult(*)(CUsurfObject *, const CUDA_RESOURCE_DESC *))nullptr, "cuSurfObjectCreate");

    CUDA_ARRAY3D_DESCRIPTOR wanted = {8, 4, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST}, told = {};
    CUarray array, bytes;
    OK(create(&array, &wanted));
    OK(describe(&told, array));
    EXPECT(told.Width == 8 && told.Height == 4 && told.Depth == 0 && told.Format == wanted.Format);
    EXPECT(told.NumChannels == 1 && told.Flags == wanted.Flags);
    float host[32], back[32], *device;
    for (int i = 0; i < 32; i++) host[i] = 1.5f * i;
    OK(to_array(array, 0, host, sizeof host));
    OK(from_array(back, array, 0, sizeof back));
    EXPECT(memcmp(host, back, sizeof host) == 0);

    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    CUDA_TEXTURE_DESC how = {};
    how.addressMode[0] = how.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
    CUtexObject object, broken;
    OK(texture(&object, &resource, &how, nullptr));
    CUsurfObject writable;
    OK(surface(&writable, &resource));
    OK(cudaMalloc(&device, sizeof host));
    touch<<<1, 32>>>(writable);
    fetch<<<1, 32>>>(object, device);
    OK(cudaMemcpy(back, device, sizeof back, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++) EXPECT(back[i] == 3.0f * i);
    OK(no_texture(object));

    // Bytes are read as they are, or as fractions of the largest.
    CUDA_ARRAY_DESCRIPTOR flat = {8, 4, CU_AD_FORMAT_UNSIGNED_INT8, 1};
    unsigned char small[32];
    for (int i = 0; i < 32; i++) small[i] = 8 * i;
    OK(create_flat(&bytes, &flat));
    OK(to_array(bytes, 0, small, sizeof small));
    resource.res.array.hArray = bytes;
    OK(texture(&object, &resource, &how, nullptr));
    fetch<<<1, 32>>>(object, device);
    OK(cudaMemcpy(back, device, sizeof back, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++) EXPECT(back[i] == 8 * i / 255.0f);
    flat.NumChannels = 3;
    EXPECT(create_flat(&bytes, &flat) == CUDA_ERROR_INVALID_VALUE);
    resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    EXPECT(texture(&broken, &resource, &how, nullptr) == CUDA_ERROR_INVALID_HANDLE);
    OK(destroy(array));
}

int main() {
    OK(cudaFree(nullptr));
    virtual_memory();
    textures();
    void *nothing = &wrong;
    cudaDriverEntryPointQueryResult verdict;
    OK(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &nothing, 12000, cudaEnableDefault, &verdict));
    EXPECT(nothing == nullptr && verdict == cudaDriverEntryPointSymbolNotFound);
    printf("memory of the driver, %d wrong\n", wrong);
    return wrong != 0;
}
