//! What there is to ask of graphs and of streams that are captured.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use super::graph::{give_list, instantiate};
use super::stream::stream_id;
use super::{Done, address, api, give, null, with_runtime};
use crate::error::{CudaError, Fault};

/// # Safety
/// As [`give_list`].
unsafe fn give_earlier(node: *mut c_void, to: *mut *mut c_void, count: *mut usize) -> Done {
    let nodes = with_runtime(|runtime| runtime.dependencies(address(node)))?;
    // SAFETY: by the contract of this function.
    unsafe { give_list(to, count, &nodes) }
}

/// Where the answers about a captured stream go.
struct CaptureInfo {
    status: *mut c_int,
    id: *mut c_ulonglong,
    graph: *mut *mut c_void,
    nodes: *mut *const u64,
    count: *mut usize,
}

thread_local! {
    /// The nodes of the last answer, which the program may read until it asks again.
    static NODES: std::cell::RefCell<Vec<u64>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// # Safety
/// All of `to` is null or points to room for what it names.
unsafe fn give_capture(stream: *mut c_void, to: &CaptureInfo) -> Done {
    let found = with_runtime(|runtime| {
        runtime.is_non_blocking(stream_id(stream))?;
        Ok(runtime.capture_of(stream_id(stream)))
    })?;
    let is_active = found.is_some();
    let (graph, nodes) = found.unwrap_or_default();
    let (start, count) = NODES.with_borrow_mut(|kept| {
        *kept = nodes;
        (kept.as_ptr(), kept.len())
    });
    // SAFETY: by the contract of this function.
    unsafe {
        give(to.status, c_int::from(is_active))?;
        if !is_active {
            return Ok(());
        }
        if !to.id.is_null() {
            give(to.id, graph)?;
        }
        if !to.graph.is_null() {
            give(to.graph, graph as *mut c_void)?;
        }
        if !to.nodes.is_null() {
            give(to.nodes, start)?;
        }
        if !to.count.is_null() {
            give(to.count, count)?;
        }
    }
    Ok(())
}

/// `cudaStreamUpdateCaptureDependenciesFlags`: the nodes take the place of those before.
const SET: c_uint = 1;

/// # Safety
/// `nodes` points to `count` handles.
unsafe fn update_capture(
    stream: *mut c_void,
    nodes: *const u64,
    count: usize,
    flags: c_uint,
) -> Done {
    if count > 0 && nodes.is_null() || flags > SET {
        return Err(null());
    }
    // SAFETY: by the contract of this function.
    let read = |index| unsafe { nodes.add(index).read_unaligned() };
    let nodes: Vec<u64> = (0..count).map(read).collect();
    with_runtime(|runtime| runtime.set_capture_end(stream_id(stream), &nodes, flags == SET))
}

// SAFETY, of all blocks below: see the module.
api! {

    fn cudaGraphNodeGetDependencies(node: *mut c_void, to: *mut *mut c_void, _edges: *mut c_void, count: *mut usize) {
        // SAFETY: the program passes `to` as null or room for as many values as `count` says; `count` as null or room
        // for a size.
        unsafe { give_earlier(node, to, count) }
    }

    fn cudaGraphNodeGetDependencies_v1(node: *mut c_void, to: *mut *mut c_void, count: *mut usize) {
        // SAFETY: the program passes `to` as null or room for as many values as `count` says; `count` as null or room
        // for a size.
        unsafe { give_earlier(node, to, count) }
    }

    fn cudaStreamGetCaptureInfo(stream: *mut c_void, status: *mut c_int, id: *mut c_ulonglong, graph: *mut *mut c_void, nodes: *mut *const u64, edges: *mut *const c_void, count: *mut usize) {
        if !edges.is_null() {
            // SAFETY: the program passes `edges` as null or room for an address.
            unsafe { give(edges, std::ptr::null())? };
        }
        // SAFETY: the program passes `status` as null or room for an int; `id` as null or room for a number of 64 bits;
        // `graph` as null or room for as many values as `count` says; `nodes` as null or room for as many values as
        // `count` says; `count` as null or room for a size.
        unsafe { give_capture(stream, &CaptureInfo { status, id, graph, nodes, count }) }
    }

    fn cudaStreamGetCaptureInfo_v12(stream: *mut c_void, status: *mut c_int, id: *mut c_ulonglong, graph: *mut *mut c_void, nodes: *mut *const u64, count: *mut usize) {
        // SAFETY: the program passes `status` as null or room for an int; `id` as null or room for a number of 64 bits;
        // `graph` as null or room for as many values as `count` says; `nodes` as null or room for as many values as
        // `count` says; `count` as null or room for a size.
        unsafe { give_capture(stream, &CaptureInfo { status, id, graph, nodes, count }) }
    }

    fn cudaStreamGetCaptureInfo_v1(stream: *mut c_void, status: *mut c_int, id: *mut c_ulonglong) {
        let (graph, nodes, count) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the program passes `status` as null or room for an int; `id` as null or room for a number of 64 bits.
        unsafe { give_capture(stream, &CaptureInfo { status, id, graph, nodes, count }) }
    }

    fn cudaStreamUpdateCaptureDependencies(stream: *mut c_void, nodes: *const u64, _edges: *const c_void, count: usize, flags: c_uint) {
        // SAFETY: the program passes `nodes` as null or with `count` values.
        unsafe { update_capture(stream, nodes, count, flags) }
    }

    fn cudaStreamUpdateCaptureDependencies_v1(stream: *mut c_void, nodes: *const u64, count: usize, flags: c_uint) {
        // SAFETY: the program passes `nodes` as null or with `count` values.
        unsafe { update_capture(stream, nodes, count, flags) }
    }

    fn cudaGraphInstantiateWithParams(to: *mut *mut c_void, graph: *mut c_void, parameter: *mut c_ulonglong) {
        // Flags, the stream of the upload, the node that failed, the verdict.
        if !parameter.is_null() {
            // SAFETY: the program passes `parameter` as null or room for a number of 64 bits.
            unsafe {
                give(parameter.add(2), 0)?;
                give(parameter.add(3).cast::<c_uint>(), 0)?;
            }
        }
        // SAFETY: the program passes `to` as null or room for a handle.
        unsafe { instantiate(to, graph) }
    }

    fn cudaDeviceDisablePeerAccess(_peer: c_int) {
        Err(Fault::new(CudaError::PEER_ACCESS_NOT_ENABLED, "pagemill simulates one device, which has no peer"))
    }

    fn cudaDeviceGetP2PAttribute(_to: *mut c_int, _attribute: c_int, _from: c_int, _peer: c_int) {
        Err(Fault::new(CudaError::INVALID_DEVICE, "pagemill simulates one device, which has no peer"))
    }

    fn cudaDeviceGetSharedMemConfig(to: *mut c_int) {
        // Banks of four bytes.
        // SAFETY: the program passes `to` as null or room for an int.
        unsafe { give(to, 1) }
    }

    fn cudaDeviceSetSharedMemConfig(_config: c_int) {
        Ok(())
    }

    fn cudaFuncSetSharedMemConfig(_function: *const c_void, _config: c_int) {
        Ok(())
    }

    fn cudaStreamSetAttribute(stream: *mut c_void, _attribute: c_int, value: *const c_void) {
        if value.is_null() {
            return Err(null());
        }
        // Priorities, windows of L2 and ways to wait change nothing that a program computes.
        with_runtime(|runtime| runtime.is_non_blocking(stream_id(stream))).map(|_| ())
    }

    fn cudaStreamGetAttribute(stream: *mut c_void, _attribute: c_int, to: *mut [u64; 8]) {
        with_runtime(|runtime| runtime.is_non_blocking(stream_id(stream)))?;
        // SAFETY: the program passes `to` as null or room for `[u64; 8]`.
        unsafe { give(to, [0; 8]) }
    }
}
