//! What there is to ask of graphs and of streams that are captured.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use super::graph::{give_list, handles, instantiate};
use super::stream::stream_id;
use super::{Done, OutPtr, address, api, null, with_runtime};
use crate::error::{CudaError, Fault};

/// # Safety
/// As [`give_list`].
unsafe fn give_earlier(node: *mut c_void, to: *mut *mut c_void, count: *mut usize) -> Done {
    let nodes = with_runtime(|runtime| runtime.graphs.dependencies(address(node)))?;
    // SAFETY: `count` says how much room the program has at `to`, if that is not null.
    unsafe { give_list(to, count, &nodes) }
}

/// Where the answers about a captured stream go.
struct CaptureInfo<'call> {
    status: OutPtr<'call, c_int>,
    id: OutPtr<'call, c_ulonglong>,
    graph: OutPtr<'call, *mut c_void>,
    nodes: OutPtr<'call, *const u64>,
    count: OutPtr<'call, usize>,
}

thread_local! {
    /// The nodes of the last answer, which the program may read until it asks again.
    static NODES: std::cell::RefCell<Vec<u64>> = const { std::cell::RefCell::new(Vec::new()) };
}

fn give_capture(stream: *mut c_void, to: &CaptureInfo) -> Done {
    let found = with_runtime(|runtime| {
        runtime.streams.is_non_blocking(stream_id(stream))?;
        Ok(runtime.graphs.capture_of(stream_id(stream)))
    })?;
    let is_active = found.is_some();
    let (graph, nodes) = found.unwrap_or_default();
    let (start, count) = NODES.with_borrow_mut(|kept| {
        *kept = nodes;
        (kept.as_ptr(), kept.len())
    });
    to.status.put(c_int::from(is_active))?;
    if is_active {
        to.id.put_if_wanted(graph);
        to.graph.put_if_wanted(graph as *mut c_void);
        to.nodes.put_if_wanted(start);
        to.count.put_if_wanted(count);
    }
    Ok(())
}

/// `cudaStreamUpdateCaptureDependenciesFlags`: the nodes take the place of those before.
const SET: c_uint = 1;

/// # Safety
/// `nodes` is null or has `count` handles.
unsafe fn update_capture(
    stream: *mut c_void,
    nodes: *const u64,
    count: usize,
    flags: c_uint,
) -> Done {
    if flags > SET {
        return Err(null());
    }
    // SAFETY: the program says that its list has `count` nodes.
    let nodes = unsafe { handles(nodes, count)? };
    with_runtime(|runtime| {
        runtime
            .graphs
            .set_capture_end(stream_id(stream), &nodes, flags == SET)
    })
}

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

    fn cudaStreamGetCaptureInfo(stream: *mut c_void, status: OutPtr<c_int>, id: OutPtr<c_ulonglong>, graph: OutPtr<*mut c_void>, nodes: OutPtr<*const u64>, edges: OutPtr<*const c_void>, count: OutPtr<usize>) {
        edges.put_if_wanted(std::ptr::null());
        give_capture(stream, &CaptureInfo { status, id, graph, nodes, count })
    }

    fn cudaStreamGetCaptureInfo_v12(stream: *mut c_void, status: OutPtr<c_int>, id: OutPtr<c_ulonglong>, graph: OutPtr<*mut c_void>, nodes: OutPtr<*const u64>, count: OutPtr<usize>) {
        give_capture(stream, &CaptureInfo { status, id, graph, nodes, count })
    }

    fn cudaStreamGetCaptureInfo_v1(stream: *mut c_void, status: OutPtr<c_int>, id: OutPtr<c_ulonglong>) {
        let (graph, nodes, count) = (OutPtr::NULL, OutPtr::NULL, OutPtr::NULL);
        give_capture(stream, &CaptureInfo { status, id, graph, nodes, count })
    }

    fn cudaStreamUpdateCaptureDependencies(stream: *mut c_void, nodes: *const u64, _edges: *const c_void, count: usize, flags: c_uint) {
        // SAFETY: the program passes `nodes` as null or with `count` values.
        unsafe { update_capture(stream, nodes, count, flags) }
    }

    fn cudaStreamUpdateCaptureDependencies_v1(stream: *mut c_void, nodes: *const u64, count: usize, flags: c_uint) {
        // SAFETY: the program passes `nodes` as null or with `count` values.
        unsafe { update_capture(stream, nodes, count, flags) }
    }

    fn cudaGraphInstantiateWithParams(to: OutPtr<*mut c_void>, graph: *mut c_void, parameter: *mut c_ulonglong) {
        // Flags, the stream of the upload, the node that failed, the verdict.
        if !parameter.is_null() {
            // SAFETY: the program has room for the four fields, of which these two are results.
            unsafe {
                parameter.add(2).write_unaligned(0);
                parameter.add(3).cast::<c_uint>().write_unaligned(0);
            }
        }
        instantiate(to, graph)
    }

    fn cudaDeviceDisablePeerAccess(_peer: c_int) {
        Err(Fault::new(CudaError::PEER_ACCESS_NOT_ENABLED, "pagemill simulates one device, which has no peer"))
    }

    fn cudaDeviceGetP2PAttribute(_to: *mut c_int, _attribute: c_int, _from: c_int, _peer: c_int) {
        Err(Fault::new(CudaError::INVALID_DEVICE, "pagemill simulates one device, which has no peer"))
    }

    fn cudaDeviceGetSharedMemConfig(to: OutPtr<c_int>) {
        // Banks of four bytes.
        to.put(1)
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
        with_runtime(|runtime| runtime.streams.is_non_blocking(stream_id(stream))).map(|_| ())
    }

    fn cudaStreamGetAttribute(stream: *mut c_void, _attribute: c_int, to: OutPtr<[u64; 8]>) {
        with_runtime(|runtime| runtime.streams.is_non_blocking(stream_id(stream)))?;
        to.put([0; 8])
    }
}
