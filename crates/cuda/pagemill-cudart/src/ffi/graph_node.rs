//! Nodes of every type by one function, and conditional nodes, which have no other.

use std::ffi::{c_int, c_uint, c_void};

use super::copy::Memcpy3d;
use super::graph::{HostNode, KernelNode, MemsetNode, Place, add, handles, parameters};
use super::graph_memory::cudaGraphAddMemAllocNode;
use super::stream::stream_id;
use super::{Done, address, api, give, null, with_runtime};
use crate::error::{CudaError, Fault};
use crate::runtime::{Choice, Runtime, Work};

/// The bytes of `cudaGraphNodeParams`, of whose union only the beginning depends on the type.
#[repr(C)]
pub(super) struct NodeParameters {
    kind: c_int,
    reserved: [c_int; 3],
    of_kind: [u64; 29],
}

/// `cudaChildGraphNodeParams`.
#[repr(C)]
struct Child {
    graph: u64,
    ownership: c_int,
}

/// `cudaGraphChildGraphOwnershipMove`: the graph goes into the node, and its nodes keep their handles.
const MOVED: c_int = 1;

/// `cudaConditionalNodeParams`.
#[repr(C)]
struct ConditionalNode {
    handle: u64,
    kind: c_int,
    bodies: c_uint,
    graphs: *mut u64,
}

/// `cudaGraphCondAssignDefault`.
const ASSIGN_DEFAULT: c_uint = 1;
/// Bytes of `cudaMemcpyNodeParams` before the copy.
const COPY_OFFSET: usize = 16;

/// How a border reads the parameters of a kernel.
pub(super) type KernelWork = unsafe fn(*const c_void, &mut Runtime) -> Result<Work, Fault>;

/// # Safety
/// The pointers of `place` are as [`add`] needs them; `parameter` is null or points to parameters of a node.
pub(super) unsafe fn add_any(
    place: &Place,
    parameter: *mut NodeParameters,
    kernel: KernelWork,
) -> Done {
    if parameter.is_null() {
        return Err(null());
    }
    // SAFETY: by the contract of this function, for all of them; the type says what the union holds.
    unsafe {
        let kind = (&raw const (*parameter).kind).read_unaligned();
        let union = (&raw mut (*parameter).of_kind).cast::<c_void>();
        match kind {
            10 => {
                let Place {
                    to,
                    graph,
                    after,
                    count,
                } = *place;
                match cudaGraphAddMemAllocNode(to, graph, after, count, union.cast()) {
                    0 => Ok(()),
                    code => Err(Fault::silent(CudaError(code))),
                }
            }
            13 => add_conditional(place, union.cast()),
            _ => add(place, |runtime| work_of(parameter, kernel, runtime)),
        }
    }
}

/// What a node with these parameters does, if it needs nothing but them.
///
/// # Safety
/// `parameter` is null or points to parameters of a node.
pub(super) unsafe fn work_of(
    parameter: *const NodeParameters,
    kernel: KernelWork,
    runtime: &mut Runtime,
) -> Result<Work, Fault> {
    if parameter.is_null() {
        return Err(null());
    }
    // SAFETY: by the contract of this function, for all of them; the type says what the union holds.
    unsafe {
        let kind = (&raw const (*parameter).kind).read_unaligned();
        let union = (&raw const (*parameter).of_kind).cast::<c_void>();
        let handle = || union.cast::<u64>().read_unaligned();
        match kind {
            0 => kernel(union, runtime),
            1 => parameters(union.byte_add(COPY_OFFSET).cast::<Memcpy3d>())?.work(runtime),
            2 => parameters(union.cast::<MemsetNode>())?.work(),
            3 => parameters(union.cast::<HostNode>())?.work(),
            4 => {
                let child = union.cast::<Child>().read_unaligned();
                runtime.child_work(child.graph, child.ownership == MOVED)
            }
            5 => Ok(Work::Empty),
            6 => Ok(Work::Wait(handle())),
            7 => Ok(Work::Record(handle())),
            11 => Ok(Work::Free(handle())),
            _ => {
                let message = format!("pagemill cannot do this with nodes of type {kind}");
                Err(Fault::new(CudaError::NOT_SUPPORTED, message))
            }
        }
    }
}

/// # Safety
/// As [`work_of`].
pub(super) unsafe fn kernel_work(
    node: *const c_void,
    runtime: &mut Runtime,
) -> Result<Work, Fault> {
    // SAFETY: by the contract of this function.
    unsafe { parameters(node.cast::<KernelNode>())?.work(runtime) }
}

/// # Safety
/// As [`add_any`].
unsafe fn add_conditional(place: &Place, node: *mut ConditionalNode) -> Done {
    // SAFETY: by the contract of this function.
    let node_parameters = unsafe { parameters(node)? };
    // SAFETY: likewise, the list has as many handles as it says.
    let after = unsafe { handles(place.after, place.count)? };
    if place.to.is_null() {
        return Err(null());
    }
    let ConditionalNode {
        handle,
        kind,
        bodies,
        ..
    } = node_parameters;
    let choice = Choice::new(kind, bodies)?;
    let (made, graphs) = with_runtime(|runtime| {
        runtime.add_conditional_node(address(place.graph), &after, (handle, choice), bodies)
    })?;
    // The program reads the list for as long as the node is there, which may be for ever.
    let graphs: &'static mut [u64] = graphs.leak();
    // SAFETY: by the contract of this function.
    unsafe {
        (&raw mut (*node).graphs).write_unaligned(graphs.as_mut_ptr());
        give(place.to, made as *mut c_void)
    }
}

/// # Safety
/// `to` is null or points to room for a handle.
unsafe fn create_handle(to: *mut u64, graph: *mut c_void, value: c_uint, flags: c_uint) -> Done {
    if flags > ASSIGN_DEFAULT {
        let message = format!("there are no flags {flags:#x} of conditional handles");
        return Err(Fault::new(CudaError::INVALID_VALUE, message));
    }
    let initial = (flags == ASSIGN_DEFAULT).then_some(value);
    let handle = with_runtime(|runtime| runtime.create_conditional(address(graph), initial))?;
    // SAFETY: by the contract of this function.
    unsafe { give(to, handle) }
}

// SAFETY, of all blocks below: see the module.
api! {
    fn cudaGraphAddNode(to: *mut *mut c_void, graph: *mut c_void, after: *const u64, _edges: *const c_void, count: usize, parameter: *mut NodeParameters) {
        // SAFETY: the program passes `to` as null or room for a handle; `parameter` as null or room for
        // `NodeParameters`; `after` as null or with `count` values.
        unsafe { add_any(&Place { to, graph, after, count }, parameter, kernel_work) }
    }

    fn cudaGraphAddNode_v1(to: *mut *mut c_void, graph: *mut c_void, after: *const u64, count: usize, parameter: *mut NodeParameters) {
        // SAFETY: the program passes `to` as null or room for a handle; `parameter` as null or room for
        // `NodeParameters`; `after` as null or with `count` values.
        unsafe { add_any(&Place { to, graph, after, count }, parameter, kernel_work) }
    }

    fn cudaGraphConditionalHandleCreate(to: *mut u64, graph: *mut c_void, value: c_uint, flags: c_uint) {
        // SAFETY: the program passes `to` as null or room for a number of 64 bits.
        unsafe { create_handle(to, graph, value, flags) }
    }

    fn cudaGraphConditionalHandleCreate_v2(to: *mut u64, graph: *mut c_void, _context: *mut c_void, value: c_uint, flags: c_uint) {
        // SAFETY: the program passes `to` as null or room for a number of 64 bits.
        unsafe { create_handle(to, graph, value, flags) }
    }

    fn cudaStreamBeginCaptureToGraph(stream: *mut c_void, graph: *mut c_void, after: *const u64, _edges: *const c_void, count: usize, mode: c_int) {
        if !(0..=2).contains(&mode) {
            return Err(Fault::new(CudaError::INVALID_VALUE, format!("there is no capture mode {mode}")));
        }
        // SAFETY: the program passes `after` as null or with `count` values.
        let after = unsafe { handles(after, count)? };
        with_runtime(|runtime| runtime.begin_capture_to(stream_id(stream), address(graph), &after))
    }
}
