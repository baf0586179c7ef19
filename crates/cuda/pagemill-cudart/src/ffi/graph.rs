//! Graphs: nodes by hand, streams that are captured, and launches of all of it.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use super::copy::{Memcpy3d, linear_plan};
use super::launch::{Dim3, after_launch, apply_attribute, pack};
use super::stream::stream_id;
use super::work::{HostFunction, launch_graph};
use super::{Done, InPtr, OutPtr, address, api, null, user_object, with_runtime};
use crate::error::{CudaError, Fault};
use crate::runtime::{Extent, FunctionKey, Launch, Runtime, Span, StreamId, Work, step_of};

/// `cudaKernelNodeParams`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct KernelNode {
    pub(super) function: *const c_void,
    pub(super) grid: Dim3,
    pub(super) block: Dim3,
    pub(super) shared_bytes: c_uint,
    pub(super) arguments: *const *const c_void,
    pub(super) extra: *const *const c_void,
}

impl KernelNode {
    /// # Safety
    /// The arguments are as [`pack`] needs them.
    pub(super) unsafe fn work(&self, runtime: &mut Runtime) -> Result<Work, Fault> {
        if !self.extra.is_null() {
            let message = "pagemill does not support kernel arguments in the `extra` format";
            return Err(Fault::new(CudaError::NOT_SUPPORTED, message));
        }
        let key = FunctionKey(address(self.function));
        let launch = Launch {
            grid: self.grid.extents(),
            block: self.block.extents(),
            shared_bytes: self.shared_bytes.into(),
            stream: StreamId::LEGACY,
            cooperative: false,
            cluster: None,
        };
        let arguments = runtime.kernels().prepare(key, &launch, |params, bytes| {
            // SAFETY: the program's list has a pointer for each parameter of the kernel that it names beside the list.
            unsafe { pack(self.arguments, params, bytes) }
        })?;
        Ok(Work::Kernel(key, launch, arguments))
    }
}

/// `cudaMemsetParams`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct MemsetNode {
    pub(super) to: *mut c_void,
    pub(super) pitch: usize,
    pub(super) value: c_uint,
    pub(super) element_bytes: c_uint,
    pub(super) width: usize,
    pub(super) rows: usize,
}

impl MemsetNode {
    pub(super) fn work(&self) -> Result<Work, Fault> {
        let bytes = self.element_bytes as usize;
        if !matches!(bytes, 1 | 2 | 4) {
            let message = format!("elements of 1, 2 and 4 bytes can be set, not of {bytes}");
            return Err(Fault::invalid(message));
        }
        let width = self.width.checked_mul(bytes).ok_or_else(null)?;
        let extent = Extent {
            width_bytes: width as u64,
            rows: self.rows as u64,
            slices: 1,
        };
        let span = Span {
            address: address(self.to),
            pitch_bytes: self.pitch as u64,
            slice_bytes: 0,
        };
        Ok(Work::Fill(
            span,
            extent,
            self.value.to_le_bytes()[..bytes].to_vec(),
        ))
    }
}

/// `cudaHostNodeParams`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct HostNode {
    pub(super) function: Option<HostFunction>,
    pub(super) data: *mut c_void,
}

impl HostNode {
    pub(super) fn work(&self) -> Result<Work, Fault> {
        let function = self.function.ok_or_else(null)?;
        Ok(Work::Host(function as usize as u64, address(self.data)))
    }
}

/// What the program hands over beside the node's own parameters.
pub(super) struct Place<'call> {
    pub(super) to: OutPtr<'call, *mut c_void>,
    pub(super) graph: *mut c_void,
    pub(super) after: *const u64,
    pub(super) count: usize,
}

/// # Safety
/// The list of `place` is null or has as many handles as it says.
pub(super) unsafe fn add(
    place: &Place,
    work: impl FnOnce(&mut Runtime) -> Result<Work, Fault>,
) -> Done {
    place.to.needed()?;
    // SAFETY: the program says beside the list how many nodes it names there.
    let after = unsafe { handles(place.after, place.count)? };
    let node = with_runtime(|runtime| {
        let work = work(runtime)?;
        runtime.graphs.add_node(address(place.graph), &after, work)
    })?;
    place.to.put(node as *mut c_void)
}

/// The `count` handles of a list.
///
/// # Safety
/// `list` is null or points to so many.
pub(super) unsafe fn handles(list: *const u64, count: usize) -> Result<Vec<u64>, Fault> {
    if count > 0 && list.is_null() {
        return Err(null());
    }
    // SAFETY: the list is not null if anything is read; `index` is below `count`, so that a handle is there.
    let read = |index| unsafe { list.add(index).read_unaligned() };
    Ok((0..count).map(read).collect())
}

/// Hands out a list as CUDA does: to a null pointer only its length, else as many as there is room for.
///
/// # Safety
/// `count` points to the room at `to`, unless that is null.
pub(super) unsafe fn give_list(to: *mut *mut c_void, count: *mut usize, list: &[u64]) -> Done {
    if count.is_null() {
        return Err(null());
    }
    if to.is_null() {
        // SAFETY: `count` is not null, and so is a number of the program, which waits for the length there.
        unsafe { count.write_unaligned(list.len()) };
        return Ok(());
    }
    // SAFETY: both are not null; the program has set the number to how many handles there is room for at `to`, and handles
    // are written to places below it only.
    unsafe {
        let room = count.read_unaligned();
        let handles = list.iter().copied().chain(std::iter::repeat(0));
        for (index, handle) in handles.enumerate().take(room) {
            to.add(index).write_unaligned(handle as *mut c_void);
        }
        count.write_unaligned(list.len().min(room));
    }
    Ok(())
}

/// # Safety
/// `from` and `to` are null or have `count` handles.
unsafe fn dependencies(graph: *mut c_void, from: *const u64, to: *const u64, count: usize) -> Done {
    // SAFETY: both lists are as long as the program says.
    let (from, to) = unsafe { (handles(from, count)?, handles(to, count)?) };
    for (from, to) in from.into_iter().zip(to) {
        with_runtime(|runtime| runtime.graphs.add_dependency(address(graph), from, to))?;
    }
    Ok(())
}

pub(super) fn instantiate(to: OutPtr<*mut c_void>, graph: *mut c_void) -> Done {
    let executable = with_runtime(|runtime| runtime.graphs.instantiate(address(graph)))?;
    user_object::inherit(address(graph), executable);
    to.put(executable as *mut c_void)
}

fn no_such_step(node: *mut c_void) -> Fault {
    let message = format!("the executable graph was not made with such a node {node:p}");
    Fault::invalid(message)
}

/// Gives the step of an executable graph that was made from `node` other parameters.
pub(super) fn set_step(
    executable: *mut c_void,
    node: *mut c_void,
    work: impl FnOnce(&mut Runtime) -> Result<Work, Fault>,
) -> Done {
    with_runtime(|runtime| {
        let work = work(runtime)?;
        let steps = runtime.graphs.steps(address(executable))?;
        let step = step_of(steps, address(node)).ok_or_else(|| no_such_step(node))?;
        match step.work.replace(work) {
            true => Ok(()),
            false => Err(no_such_step(node)),
        }
    })
}

api! {
    fn cudaGraphCreate(to: OutPtr<*mut c_void>, _flags: c_uint) {
        let graph = with_runtime(|runtime| Ok(runtime.graphs.create_graph()))?;
        to.put(graph as *mut c_void)
    }

    fn cudaGraphDestroy(graph: *mut c_void) {
        with_runtime(|runtime| runtime.graphs.destroy_graph(address(graph)))?;
        user_object::forget(address(graph));
        Ok(())
    }

    fn cudaGraphClone(to: OutPtr<*mut c_void>, graph: *mut c_void) {
        let copy = with_runtime(|runtime| runtime.graphs.clone_graph(address(graph)))?;
        user_object::inherit(address(graph), copy);
        to.put(copy as *mut c_void)
    }

    fn cudaGraphAddKernelNode(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, count: usize, node: InPtr<KernelNode>) {
        let node = node.read()?;
        // SAFETY: `after` is null or has `count` nodes; the kernel has an argument for each of its parameters.
        unsafe { add(&Place { to, graph, after, count }, |runtime| node.work(runtime)) }
    }

    fn cudaGraphAddMemcpyNode(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, count: usize, node: InPtr<Memcpy3d>) {
        let node = node.read()?;
        // SAFETY: `after` is null or has `count` nodes.
        unsafe { add(&Place { to, graph, after, count }, |runtime| node.work(runtime)) }
    }

    fn cudaGraphAddMemcpyNode1D(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, count: usize, destination: *mut c_void, source: *const c_void, bytes: usize, kind: c_int) {
        let plan = linear_plan(address(destination), address(source), bytes);
        // SAFETY: `after` is null or has `count` nodes.
        unsafe { add(&Place { to, graph, after, count }, |_| Ok(Work::Copy(plan, kind))) }
    }

    fn cudaGraphAddMemsetNode(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, count: usize, node: InPtr<MemsetNode>) {
        let node = node.read()?;
        // SAFETY: `after` is null or has `count` nodes.
        unsafe { add(&Place { to, graph, after, count }, |_| node.work()) }
    }

    fn cudaGraphAddHostNode(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, count: usize, node: InPtr<HostNode>) {
        let node = node.read()?;
        // SAFETY: `after` is null or has `count` nodes.
        unsafe { add(&Place { to, graph, after, count }, |_| node.work()) }
    }

    fn cudaGraphAddChildGraphNode(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, count: usize, child: *mut c_void) {
        // SAFETY: `after` is null or has `count` nodes.
        unsafe {
            add(&Place { to, graph, after, count }, |runtime| runtime.graphs.child_work(address(child), false))
        }
    }

    fn cudaGraphAddEmptyNode(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, count: usize) {
        // SAFETY: `after` is null or has `count` nodes.
        unsafe { add(&Place { to, graph, after, count }, |_| Ok(Work::Empty)) }
    }

    fn cudaGraphAddEventRecordNode(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, count: usize, event: *mut c_void) {
        // SAFETY: `after` is null or has `count` nodes.
        unsafe { add(&Place { to, graph, after, count }, |_| Ok(Work::Record(address(event)))) }
    }

    fn cudaGraphAddEventWaitNode(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, count: usize, event: *mut c_void) {
        // SAFETY: `after` is null or has `count` nodes.
        unsafe { add(&Place { to, graph, after, count }, |_| Ok(Work::Wait(address(event)))) }
    }

    fn cudaGraphAddDependencies(graph: *mut c_void, from: *const u64, to: *const u64, _edges: *const c_void, count: usize) {
        // SAFETY: the program passes `from` as null or with `count` values; `to` as null or with `count` values.
        unsafe { dependencies(graph, from, to, count) }
    }

    fn cudaGraphAddDependencies_v1(graph: *mut c_void, from: *const u64, to: *const u64, count: usize) {
        // SAFETY: the program passes `from` as null or with `count` values; `to` as null or with `count` values.
        unsafe { dependencies(graph, from, to, count) }
    }

    fn cudaGraphGetNodes(graph: *mut c_void, to: *mut *mut c_void, count: *mut usize) {
        let nodes = with_runtime(|runtime| runtime.graphs.nodes(address(graph), false))?;
        // SAFETY: the program passes `to` as null or room for as many values as `count` says; `count` as null or room
        // for a size.
        unsafe { give_list(to, count, &nodes) }
    }

    fn cudaGraphGetRootNodes(graph: *mut c_void, to: *mut *mut c_void, count: *mut usize) {
        let nodes = with_runtime(|runtime| runtime.graphs.nodes(address(graph), true))?;
        // SAFETY: the program passes `to` as null or room for as many values as `count` says; `count` as null or room
        // for a size.
        unsafe { give_list(to, count, &nodes) }
    }

    fn cudaGraphKernelNodeSetAttribute(node: *mut c_void, id: c_uint, value: InPtr<[u64; 8]>) {
        let value = value.read()?;
        with_runtime(|runtime| {
            runtime.change_launch(address(node), |launch| apply_attribute(launch, id, &value))
        })
    }

    fn cudaGraphNodeGetType(node: *mut c_void, to: OutPtr<c_int>) {
        let kind = with_runtime(|runtime| Ok(runtime.graphs.node_work(address(node))?.node_type()))?;
        to.put(kind)
    }

    fn cudaGraphExecKernelNodeSetParams(executable: *mut c_void, node: *mut c_void, parameter: InPtr<KernelNode>) {
        let kernel = parameter.read()?;
        // SAFETY: the program's kernel has an argument for each of its parameters.
        set_step(executable, node, |runtime| unsafe { kernel.work(runtime) })
    }

    fn cudaGraphInstantiate(to: OutPtr<*mut c_void>, graph: *mut c_void, _flags: c_ulonglong) {
        instantiate(to, graph)
    }

    fn cudaGraphInstantiateWithFlags(to: OutPtr<*mut c_void>, graph: *mut c_void, _flags: c_ulonglong) {
        instantiate(to, graph)
    }

    fn cudaGraphExecUpdate(executable: *mut c_void, graph: *mut c_void, result: OutPtr<c_int>) {
        let fits = with_runtime(|runtime| runtime.graphs.update_executable(address(executable), address(graph)))?;
        // `cudaGraphExecUpdateSuccess`, or that the topology has changed: the first field of `cudaGraphExecUpdateResultInfo`.
        let verdict = if fits { 0 } else { 2 };
        result.put_if_wanted(verdict);
        if fits {
            return Ok(());
        }
        Err(Fault::silent(CudaError::GRAPH_EXEC_UPDATE_FAILURE))
    }

    fn cudaGraphUpload(executable: *mut c_void, stream: *mut c_void) {
        with_runtime(|runtime| {
            runtime.streams.is_non_blocking(stream_id(stream))?;
            runtime.graphs.steps(address(executable)).map(|_| ())
        })
    }

    fn cudaGraphLaunch(executable: *mut c_void, stream: *mut c_void) {
        // SAFETY: a host node calls a function that the program gave for it, with data that it keeps until the graph has run.
        after_launch(unsafe { launch_graph(address(executable), stream_id(stream)) })
    }

    fn cudaGraphExecDestroy(executable: *mut c_void) {
        with_runtime(|runtime| runtime.graphs.destroy_executable(address(executable)))?;
        user_object::forget(address(executable));
        Ok(())
    }

    fn cudaStreamBeginCapture(stream: *mut c_void, mode: c_int) {
        if !(0..=2).contains(&mode) {
            return Err(Fault::invalid(format!("there is no capture mode {mode}")));
        }
        with_runtime(|runtime| runtime.begin_capture(stream_id(stream)))
    }

    fn cudaStreamEndCapture(stream: *mut c_void, to: OutPtr<*mut c_void>) {
        let graph = with_runtime(|runtime| runtime.graphs.end_capture(stream_id(stream)))?;
        // A program that captured into a graph of its own knows it.
        to.put_if_wanted(graph as *mut c_void);
        Ok(())
    }

    fn cudaThreadExchangeStreamCaptureMode(mode: *mut c_int) {
        // What is not allowed during a capture does not depend on the thread here.
        if mode.is_null() {
            return Err(null());
        }
        Ok(())
    }
}
