//! Nodes of every type by one function, and conditional nodes, which have no other.

use std::ffi::{c_int, c_uint, c_void};

use super::copy::Memcpy3d;
use super::graph::{HostNode, KernelNode, MemsetNode, Place, add, handles};
use super::graph_memory::cudaGraphAddMemAllocNode;
use super::stream::stream_id;
use super::{Done, OutPtr, address, api, null, with_runtime};
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
/// The list of `place` is as [`add`] needs it; `parameter` is null or points to parameters of a node.
pub(super) unsafe fn add_any(
    place: &Place,
    parameter: *mut NodeParameters,
    kernel: KernelWork,
) -> Done {
    if parameter.is_null() {
        return Err(null());
    }
    // SAFETY: `parameter` is not null, so that a whole `NodeParameters` of the program is there; its kind says what the
    // union holds, and `after` has as many nodes as the place says.
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
    // SAFETY: `parameter` is not null, so that a whole `NodeParameters` of the program is there, which it does not change
    // during the call; its kind says what the union holds.
    unsafe {
        let kind = (&raw const (*parameter).kind).read_unaligned();
        let union = (&raw const (*parameter).of_kind).cast::<c_void>();
        let handle = || union.cast::<u64>().read_unaligned();
        match kind {
            0 => kernel(union, runtime),
            1 => {
                let copy = union.byte_add(COPY_OFFSET).cast::<Memcpy3d>();
                copy.read_unaligned().work(runtime)
            }
            2 => union.cast::<MemsetNode>().read_unaligned().work(),
            3 => union.cast::<HostNode>().read_unaligned().work(),
            4 => {
                let child = union.cast::<Child>().read_unaligned();
                runtime
                    .graphs
                    .child_work(child.graph, child.ownership == MOVED)
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
/// `node` points to a [`KernelNode`] whose arguments are there.
pub(super) unsafe fn kernel_work(
    node: *const c_void,
    runtime: &mut Runtime,
) -> Result<Work, Fault> {
    // SAFETY: `node` is in the union of parameters whose kind is that of a kernel; it has an argument for each parameter.
    unsafe { node.cast::<KernelNode>().read_unaligned().work(runtime) }
}

/// # Safety
/// As [`add_any`]; `node` points to parameters of a conditional node.
unsafe fn add_conditional(place: &Place, node: *mut ConditionalNode) -> Done {
    // SAFETY: `node` is the union of parameters of this kind; the list has as many handles as the program says beside it.
    let (node_parameters, after) =
        unsafe { (node.read_unaligned(), handles(place.after, place.count)?) };
    place.to.needed()?;
    let ConditionalNode {
        handle,
        kind,
        bodies,
        ..
    } = node_parameters;
    let choice = Choice::new(kind, bodies)?;
    let (made, graphs) = with_runtime(|runtime| {
        runtime
            .graphs
            .add_conditional_node(address(place.graph), &after, (handle, choice), bodies)
    })?;
    // The program reads the list for as long as the node is there, which may be for ever.
    let graphs: &'static mut [u64] = graphs.leak();
    // SAFETY: `node` is still the program's, which looks for the list in this field of it when the call is over.
    unsafe { (&raw mut (*node).graphs).write_unaligned(graphs.as_mut_ptr()) };
    place.to.put(made as *mut c_void)
}

fn create_handle(to: OutPtr<u64>, graph: *mut c_void, value: c_uint, flags: c_uint) -> Done {
    if flags > ASSIGN_DEFAULT {
        let message = format!("there are no flags {flags:#x} of conditional handles");
        return Err(Fault::invalid(message));
    }
    let initial = (flags == ASSIGN_DEFAULT).then_some(value);
    let handle =
        with_runtime(|runtime| runtime.graphs.create_conditional(address(graph), initial))?;
    to.put(handle)
}

api! {
    fn cudaGraphAddNode(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, _edges: *const c_void, count: usize, parameter: *mut NodeParameters) {
        // SAFETY: `parameter` is null or a whole `NodeParameters`, and `after` null or `count` nodes.
        unsafe { add_any(&Place { to, graph, after, count }, parameter, kernel_work) }
    }

    fn cudaGraphAddNode_v1(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, count: usize, parameter: *mut NodeParameters) {
        // SAFETY: `parameter` is null or a whole `NodeParameters`, and `after` null or `count` nodes.
        unsafe { add_any(&Place { to, graph, after, count }, parameter, kernel_work) }
    }

    fn cudaGraphConditionalHandleCreate(to: OutPtr<u64>, graph: *mut c_void, value: c_uint, flags: c_uint) {
        create_handle(to, graph, value, flags)
    }

    fn cudaGraphConditionalHandleCreate_v2(to: OutPtr<u64>, graph: *mut c_void, _context: *mut c_void, value: c_uint, flags: c_uint) {
        create_handle(to, graph, value, flags)
    }

    fn cudaStreamBeginCaptureToGraph(stream: *mut c_void, graph: *mut c_void, after: *const u64, _edges: *const c_void, count: usize, mode: c_int) {
        if !(0..=2).contains(&mode) {
            return Err(Fault::invalid(format!("there is no capture mode {mode}")));
        }
        // SAFETY: the program passes `after` as null or with `count` values.
        let after = unsafe { handles(after, count)? };
        with_runtime(|runtime| runtime.begin_capture_to(stream_id(stream), address(graph), &after))
    }
}
