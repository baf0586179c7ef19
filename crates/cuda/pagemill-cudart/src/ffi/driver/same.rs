//! Functions of the driver API that are functions of the runtime API under other names.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

use super::{driver, of_runtime};
use crate::ffi::{
    InPtr, InText, OutPtr, array, copy, device, graph, graph_memory, graph_node, graph_shape, ipc,
    launch, memory, mipmap, pool, stream, user_object, work,
};

/// Exports functions that only hand their arguments on.
macro_rules! same {
    ($needs:ident: $(fn $name:ident($($argument:ident: $type:ty),* $(,)?) = $runtime:path;)*) => {
        driver! { $needs:
            $(fn $name($($argument: $type),*) {
                // SAFETY: both functions ask the same of the arguments, which come from the program as they are.
                of_runtime(|| unsafe { $runtime($($argument),*) })
            })*
        }
    };
}

type Handle = *mut c_void;
type Place<'call> = OutPtr<'call, *mut c_void>;

same! { Init:
    fn cuDeviceGetPCIBusId(to: *mut c_char, room: c_int, of: c_int) = device::cudaDeviceGetPCIBusId;
    fn cuDeviceGetByPCIBusId(to: OutPtr<c_int>, id: InText) = device::cudaDeviceGetByPCIBusId;
    fn cuDeviceCanAccessPeer(to: OutPtr<c_int>, of: c_int, peer: c_int) = device::cudaDeviceCanAccessPeer;
    fn cuDeviceGraphMemTrim(of: c_int) = graph_memory::cudaDeviceGraphMemTrim;
    fn cuDeviceGetGraphMemAttribute(of: c_int, attribute: c_int, to: OutPtr<u64>) = graph_memory::cudaDeviceGetGraphMemAttribute;
    fn cuDeviceSetGraphMemAttribute(of: c_int, attribute: c_int, value: *const u64) = graph_memory::cudaDeviceSetGraphMemAttribute;
    fn cuDeviceGetDefaultMemPool(to: Place, of: c_int) = pool::cudaDeviceGetDefaultMemPool;
    fn cuDeviceGetMemPool(to: Place, of: c_int) = pool::cudaDeviceGetMemPool;
    fn cuDeviceSetMemPool(of: c_int, pool: Handle) = pool::cudaDeviceSetMemPool;
}

same! { Context:
    fn cuCtxSynchronize() = stream::cudaDeviceSynchronize;
    fn cuCtxGetLimit(to: OutPtr<usize>, limit: c_int) = device::cudaDeviceGetLimit;
    fn cuCtxSetLimit(limit: c_int, value: usize) = device::cudaDeviceSetLimit;
    fn cuCtxGetCacheConfig(to: OutPtr<c_int>) = device::cudaDeviceGetCacheConfig;
    fn cuCtxSetCacheConfig(config: c_int) = device::cudaDeviceSetCacheConfig;
    fn cuCtxGetStreamPriorityRange(least: OutPtr<c_int>, greatest: OutPtr<c_int>) = device::cudaDeviceGetStreamPriorityRange;
    fn cuCtxResetPersistingL2Cache() = device::cudaCtxResetPersistingL2Cache;
    fn cuProfilerStart() = device::cudaProfilerStart;
    fn cuProfilerStop() = device::cudaProfilerStop;

    fn cuStreamCreate(to: Place, flags: c_uint) = stream::cudaStreamCreateWithFlags;
    fn cuStreamCreateWithPriority(to: Place, flags: c_uint, priority: c_int) = stream::cudaStreamCreateWithPriority;
    fn cuStreamDestroy_v2(own: Handle) = stream::cudaStreamDestroy;
    fn cuStreamSynchronize(own: Handle) = stream::cudaStreamSynchronize;
    fn cuStreamQuery(own: Handle) = stream::cudaStreamQuery;
    fn cuStreamWaitEvent(own: Handle, event: Handle, flags: c_uint) = stream::cudaStreamWaitEvent;
    fn cuStreamGetFlags(own: Handle, to: OutPtr<c_uint>) = stream::cudaStreamGetFlags;
    fn cuStreamGetPriority(own: Handle, to: OutPtr<c_int>) = stream::cudaStreamGetPriority;
    fn cuStreamGetDevice(own: Handle, to: OutPtr<c_int>) = stream::cudaStreamGetDevice;
    fn cuStreamGetId(own: Handle, to: OutPtr<u64>) = stream::cudaStreamGetId;
    fn cuStreamIsCapturing(own: Handle, to: OutPtr<c_int>) = stream::cudaStreamIsCapturing;
    fn cuStreamBeginCapture_v2(own: Handle, mode: c_int) = graph::cudaStreamBeginCapture;
    fn cuStreamEndCapture(own: Handle, to: Place) = graph::cudaStreamEndCapture;
    fn cuThreadExchangeStreamCaptureMode(mode: *mut c_int) = graph::cudaThreadExchangeStreamCaptureMode;
    fn cuLaunchHostFunc(own: Handle, function: Option<work::HostFunction>, data: Handle) = stream::cudaLaunchHostFunc;
    fn cuStreamAddCallback(own: Handle, function: Option<stream::StreamCallback>, data: Handle, flags: c_uint) = stream::cudaStreamAddCallback;
    fn cuStreamAttachMemAsync(own: Handle, at: Handle, bytes: usize, flags: c_uint) = memory::cudaStreamAttachMemAsync;

    fn cuEventCreate(to: Place, flags: c_uint) = stream::cudaEventCreateWithFlags;
    fn cuEventDestroy_v2(event: Handle) = stream::cudaEventDestroy;
    fn cuEventRecord(event: Handle, own: Handle) = stream::cudaEventRecord;
    fn cuEventRecordWithFlags(event: Handle, own: Handle, flags: c_uint) = stream::cudaEventRecordWithFlags;
    fn cuEventSynchronize(event: Handle) = stream::cudaEventSynchronize;
    fn cuEventQuery(event: Handle) = stream::cudaEventQuery;
    fn cuEventElapsedTime(to: OutPtr<f32>, start: Handle, end: Handle) = stream::cudaEventElapsedTime;
    fn cuEventElapsedTime_v2(to: OutPtr<f32>, start: Handle, end: Handle) = stream::cudaEventElapsedTime;

    fn cuMemAlloc_v2(to: Place, bytes: usize) = malloc;
    fn cuMemAllocAsync(to: Place, bytes: usize, own: Handle) = memory::cudaMallocAsync;
    fn cuMemAllocFromPoolAsync(to: Place, bytes: usize, pool: Handle, own: Handle) = memory::cudaMallocFromPoolAsync;
    fn cuMemFree_v2(at: Handle) = memory::cudaFree;
    fn cuMemFreeAsync(at: Handle, own: Handle) = memory::cudaFreeAsync;
    fn cuMemAllocManaged(to: Place, bytes: usize, flags: c_uint) = memory::cudaMallocManaged;
    fn cuMemAllocHost_v2(to: Place, bytes: usize) = memory::cudaMallocHost;
    fn cuMemHostAlloc(to: Place, bytes: usize, flags: c_uint) = memory::cudaHostAlloc;
    fn cuMemFreeHost(at: Handle) = memory::cudaFreeHost;
    fn cuMemHostRegister_v2(at: Handle, bytes: usize, flags: c_uint) = memory::cudaHostRegister;
    fn cuMemHostUnregister(at: Handle) = memory::cudaHostUnregister;
    fn cuMemHostGetDevicePointer_v2(to: Place, at: Handle, flags: c_uint) = memory::cudaHostGetDevicePointer;
    fn cuMemHostGetFlags(to: OutPtr<c_uint>, at: Handle) = memory::cudaHostGetFlags;
    fn cuMemGetInfo_v2(free: OutPtr<usize>, total: OutPtr<usize>) = memory::cudaMemGetInfo;
    fn cuMemPrefetchAsync(at: *const c_void, bytes: usize, of: c_int, own: Handle) = memory::cudaMemPrefetchAsync_v1;
    fn cuMemPrefetchAsync_v2(at: *const c_void, bytes: usize, location: memory::Location, flags: c_uint, own: Handle) = memory::cudaMemPrefetchAsync;
    fn cuMemAdvise(at: *const c_void, bytes: usize, advice: c_int, of: c_int) = memory::cudaMemAdvise_v1;
    fn cuMemAdvise_v2(at: *const c_void, bytes: usize, advice: c_int, location: memory::Location) = memory::cudaMemAdvise;

    fn cuMemPoolSetAccess(pool: Handle, access: *const c_void, count: usize) = pool::cudaMemPoolSetAccess;
    fn cuMemPoolGetAccess(to: OutPtr<c_int>, pool: Handle, location: *const c_void) = pool::cudaMemPoolGetAccess;
    fn cuMemPoolCreate(to: Place, properties: *const c_void) = pool::cudaMemPoolCreate;
    fn cuMemPoolDestroy(pool: Handle) = pool::cudaMemPoolDestroy;
    fn cuMemPoolTrimTo(pool: Handle, bytes: usize) = pool::cudaMemPoolTrimTo;
    fn cuMemPoolSetAttribute(pool: Handle, attribute: c_int, value: *const c_void) = pool::cudaMemPoolSetAttribute;
    fn cuMemPoolGetAttribute(pool: Handle, attribute: c_int, to: Handle) = pool::cudaMemPoolGetAttribute;

    fn cuMemcpyPeer(to: Handle, to_context: Handle, from: *const c_void, from_context: Handle, bytes: usize) = peer;
    fn cuMemcpyPeerAsync(to: Handle, to_context: Handle, from: *const c_void, from_context: Handle, bytes: usize, own: Handle) = peer_async;

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(to: OutPtr<c_int>, function: *const c_void, threads: c_int, shared: usize) = launch::cudaOccupancyMaxActiveBlocksPerMultiprocessor;
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(to: OutPtr<c_int>, function: *const c_void, threads: c_int, shared: usize, flags: c_uint) = launch::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags;
    fn cuOccupancyAvailableDynamicSMemPerBlock(to: OutPtr<usize>, function: *const c_void, blocks: c_int, threads: c_int) = launch::cudaOccupancyAvailableDynamicSMemPerBlock;
    fn cuFuncSetCacheConfig(function: *const c_void, config: c_int) = launch::cudaFuncSetCacheConfig;
    fn cuFuncSetAttribute(function: *const c_void, attribute: c_int, value: c_int) = launch::cudaFuncSetAttribute;
    fn cuFuncGetName(to: OutPtr<*const c_char>, function: *const c_void) = launch::cudaFuncGetName;
    fn cuKernelGetName(to: OutPtr<*const c_char>, function: *const c_void) = launch::cudaFuncGetName;

    fn cuIpcGetMemHandle(to: OutPtr<crate::runtime::IpcHandle>, at: Handle) = ipc::cudaIpcGetMemHandle;
    fn cuIpcOpenMemHandle_v2(to: Place, own: ipc::IpcBytes, flags: c_uint) = ipc::cudaIpcOpenMemHandle;
    fn cuIpcCloseMemHandle(at: Handle) = ipc::cudaIpcCloseMemHandle;
    fn cuIpcGetEventHandle(to: OutPtr<crate::runtime::IpcHandle>, event: Handle) = ipc::cudaIpcGetEventHandle;
    fn cuIpcOpenEventHandle(to: Place, own: ipc::IpcBytes) = ipc::cudaIpcOpenEventHandle;

    fn cuArrayDestroy(own: Handle) = array::cudaFreeArray;
    fn cuMipmappedArrayGetLevel(to: Place, own: Handle, level: c_uint) = mipmap::cudaGetMipmappedArrayLevel;
    fn cuMipmappedArrayDestroy(own: Handle) = mipmap::cudaFreeMipmappedArray;

    fn cuGraphAddMemAllocNode(to: Place, own: Handle, after: *const u64, count: usize, node: *mut graph_memory::AllocationNode) = graph_memory::cudaGraphAddMemAllocNode;
    fn cuGraphAddMemFreeNode(to: Place, own: Handle, after: *const u64, count: usize, at: Handle) = graph_memory::cudaGraphAddMemFreeNode;
    fn cuGraphKernelNodeSetAttribute(node: Handle, attribute: c_uint, value: InPtr<[u64; 8]>) = graph::cudaGraphKernelNodeSetAttribute;
    fn cuStreamSetAttribute(own: Handle, attribute: c_int, value: *const c_void) = graph_shape::cudaStreamSetAttribute;
    fn cuStreamGetAttribute(own: Handle, attribute: c_int, to: OutPtr<[u64; 8]>) = graph_shape::cudaStreamGetAttribute;
    fn cuStreamGetCaptureInfo_v2(own: Handle, status: OutPtr<c_int>, id: OutPtr<c_ulonglong>, graph: Place, nodes: OutPtr<*const u64>, count: OutPtr<usize>) = graph_shape::cudaStreamGetCaptureInfo_v12;
    fn cuStreamGetCaptureInfo_v3(own: Handle, status: OutPtr<c_int>, id: OutPtr<c_ulonglong>, graph: Place, nodes: OutPtr<*const u64>, edges: OutPtr<*const c_void>, count: OutPtr<usize>) = graph_shape::cudaStreamGetCaptureInfo;
    fn cuStreamUpdateCaptureDependencies(own: Handle, nodes: *const u64, count: usize, flags: c_uint) = graph_shape::cudaStreamUpdateCaptureDependencies_v1;
    fn cuStreamUpdateCaptureDependencies_v2(own: Handle, nodes: *const u64, edges: *const c_void, count: usize, flags: c_uint) = graph_shape::cudaStreamUpdateCaptureDependencies;
    fn cuGraphNodeGetDependencies(node: Handle, to: *mut Handle, count: *mut usize) = graph_shape::cudaGraphNodeGetDependencies_v1;
    fn cuGraphNodeGetDependencies_v2(node: Handle, to: *mut Handle, edges: Handle, count: *mut usize) = graph_shape::cudaGraphNodeGetDependencies;
    fn cuUserObjectCreate(to: Place, data: Handle, destroy: Option<work::HostFunction>, references: c_uint, flags: c_uint) = user_object::cudaUserObjectCreate;
    fn cuUserObjectRelease(own: Handle, count: c_uint) = user_object::cudaUserObjectRelease;
    fn cuGraphRetainUserObject(own: Handle, object: Handle, count: c_uint, flags: c_uint) = user_object::cudaGraphRetainUserObject;
    fn cuGraphConditionalHandleCreate(to: OutPtr<u64>, own: Handle, context: Handle, value: c_uint, flags: c_uint) = graph_node::cudaGraphConditionalHandleCreate_v2;
    fn cuStreamBeginCaptureToGraph(on: Handle, own: Handle, after: *const u64, edges: *const c_void, count: usize, mode: c_int) = graph_node::cudaStreamBeginCaptureToGraph;
    fn cuGraphCreate(to: Place, flags: c_uint) = graph::cudaGraphCreate;
    fn cuGraphDestroy(own: Handle) = graph::cudaGraphDestroy;
    fn cuGraphClone(to: Place, own: Handle) = graph::cudaGraphClone;
    fn cuGraphAddEmptyNode(to: Place, own: Handle, after: *const u64, count: usize) = graph::cudaGraphAddEmptyNode;
    fn cuGraphAddChildGraphNode(to: Place, own: Handle, after: *const u64, count: usize, child: Handle) = graph::cudaGraphAddChildGraphNode;
    fn cuGraphAddEventRecordNode(to: Place, own: Handle, after: *const u64, count: usize, event: Handle) = graph::cudaGraphAddEventRecordNode;
    fn cuGraphAddEventWaitNode(to: Place, own: Handle, after: *const u64, count: usize, event: Handle) = graph::cudaGraphAddEventWaitNode;
    fn cuGraphAddHostNode(to: Place, own: Handle, after: *const u64, count: usize, node: InPtr<graph::HostNode>) = graph::cudaGraphAddHostNode;
    fn cuGraphAddDependencies(own: Handle, from: *const u64, to: *const u64, count: usize) = graph::cudaGraphAddDependencies_v1;
    fn cuGraphAddDependencies_v2(own: Handle, from: *const u64, to: *const u64, edges: *const c_void, count: usize) = graph::cudaGraphAddDependencies;
    fn cuGraphGetNodes(own: Handle, to: *mut Handle, count: *mut usize) = graph::cudaGraphGetNodes;
    fn cuGraphGetRootNodes(own: Handle, to: *mut Handle, count: *mut usize) = graph::cudaGraphGetRootNodes;
    fn cuGraphNodeGetType(node: Handle, to: OutPtr<c_int>) = graph::cudaGraphNodeGetType;
    fn cuGraphInstantiateWithFlags(to: Place, own: Handle, flags: c_ulonglong) = graph::cudaGraphInstantiateWithFlags;
    fn cuGraphUpload(own: Handle, on: Handle) = graph::cudaGraphUpload;
    fn cuGraphLaunch(own: Handle, on: Handle) = graph::cudaGraphLaunch;
    fn cuGraphExecDestroy(own: Handle) = graph::cudaGraphExecDestroy;
    fn cuGraphExecUpdate_v2(own: Handle, graph: Handle, result: OutPtr<c_int>) = graph::cudaGraphExecUpdate;
}

/// The runtime gives a null pointer for no bytes, the driver an error.
///
/// # Safety
/// As the driver's.
unsafe fn malloc(to: Place, bytes: usize) -> i32 {
    if bytes == 0 {
        return crate::error::CudaError::INVALID_VALUE.0;
    }
    // SAFETY: the only pointer is an `OutPtr`.
    unsafe { memory::cudaMalloc(to, bytes) }
}

/// # Safety
/// As the driver's.
unsafe fn peer(
    to: Handle,
    _to_context: Handle,
    from: *const c_void,
    _from_context: Handle,
    bytes: usize,
) -> i32 {
    // SAFETY: the program has both ends until the copy is done, where they are not memory that the runtime checks.
    unsafe { copy::cudaMemcpyPeer(to, 0, from, 0, bytes) }
}

/// # Safety
/// As the driver's.
unsafe fn peer_async(
    to: Handle,
    _to_context: Handle,
    from: *const c_void,
    _from_context: Handle,
    bytes: usize,
    own: Handle,
) -> i32 {
    // SAFETY: the program has both ends until its stream has done the copy, where the runtime does not check them.
    unsafe { copy::cudaMemcpyPeerAsync(to, 0, from, 0, bytes, own) }
}
