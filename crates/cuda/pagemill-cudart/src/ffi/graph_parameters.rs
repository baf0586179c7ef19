//! Parameters of nodes: read back, changed by one function for all types, and switched on and off.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::copy::{linear_plan, symbol_place};
use super::graph::{HostNode, KernelNode, MemsetNode, Place, add, set_node, set_step, step_of};
use super::graph_node::{NodeParameters, kernel_work, work_of};
use super::launch::{apply_attribute, attribute};
use super::work::HostFunction;
use super::{address, api, give, null, with_runtime};
use crate::error::{CudaError, Fault};
use crate::runtime::{FunctionKey, Launch, Runtime, Work, other_type};

/// A kernel node as the program gave it; the list of arguments is one in the node.
pub(super) struct Kernel {
    pub(super) key: FunctionKey,
    pub(super) launch: Launch,
    pub(super) arguments: *const *const c_void,
}

/// What the kernel node `node` does.
pub(super) fn kernel_of(runtime: &mut Runtime, node: *mut c_void) -> Result<Kernel, Fault> {
    let (key, launch, arguments) = runtime.kernel_node(address(node))?;
    Ok(Kernel {
        key,
        launch,
        arguments: arguments.as_ptr().cast(),
    })
}

/// The memory that a node fills.
fn memset_of(node: *mut c_void) -> Result<MemsetNode, Fault> {
    with_runtime(|runtime| {
        let Work::Fill(span, extent, element) = runtime.node_work(address(node))? else {
            return Err(other_type(address(node)));
        };
        let mut value = [0; 4];
        value[..element.len()].copy_from_slice(element);
        Ok(MemsetNode {
            to: span.address as *mut c_void,
            pitch: span.pitch_bytes as usize,
            value: c_uint::from_le_bytes(value),
            element_bytes: element.len() as c_uint,
            width: extent.width_bytes as usize / element.len(),
            rows: extent.rows as usize,
        })
    })
}

/// The function that a node calls.
fn host_of(node: *mut c_void) -> Result<HostNode, Fault> {
    with_runtime(|runtime| {
        let Work::Host(function, data) = *runtime.node_work(address(node))? else {
            return Err(other_type(address(node)));
        };
        // SAFETY: the program gave this address as that of such a function.
        let function = unsafe { std::mem::transmute::<usize, HostFunction>(function as usize) };
        Ok(HostNode {
            function: Some(function),
            data: data as *mut c_void,
        })
    })
}

/// The event that a node records or waits for.
fn event_of(node: *mut c_void, records: bool) -> Result<u64, Fault> {
    with_runtime(|runtime| match *runtime.node_work(address(node))? {
        Work::Record(event) if records => Ok(event),
        Work::Wait(event) if !records => Ok(event),
        _ => Err(other_type(address(node))),
    })
}

/// A copy of a node between a symbol and memory.
fn copy_of_symbol(
    shadow: *const c_void,
    memory: *const c_void,
    (bytes, offset): (usize, usize),
    to_symbol: bool,
    kind: c_int,
) -> impl FnOnce(&mut Runtime) -> Result<Work, Fault> {
    move |runtime| {
        let at = symbol_place(runtime, shadow, offset, bytes)?;
        let (to, from) = match to_symbol {
            true => (at, address(memory)),
            false => (address(memory), at),
        };
        Ok(Work::Copy(linear_plan(to, from, bytes), kind))
    }
}

/// Words for what a node does.
fn label(work: &Work) -> &'static str {
    match work {
        Work::Kernel(..) => "kernel",
        Work::Copy(..) => "memcpy",
        Work::Fill(..) => "memset",
        Work::Host(..) => "host",
        Work::Child(..) => "child graph",
        Work::Empty => "empty",
        Work::Wait(_) => "event wait",
        Work::Record(_) => "event record",
        Work::Allocate { .. } => "memory allocation",
        Work::Free(_) => "memory free",
        Work::Conditional(_) => "conditional",
    }
}

/// A graph in the language of Graphviz.
fn drawing(runtime: &mut Runtime, graph: u64) -> Result<String, Fault> {
    let mut text = String::from("digraph graph_1 {\n");
    for node in runtime.nodes(graph, false)? {
        let label = label(runtime.node_work(node)?);
        // Writing to a string does not fail.
        let _ = writeln!(text, "  \"{node:#x}\" [label=\"{label}\"];");
    }
    for (from, to) in runtime.edges(graph)? {
        let _ = writeln!(text, "  \"{from:#x}\" -> \"{to:#x}\";");
    }
    text.push_str("}\n");
    Ok(text)
}

// SAFETY, of all blocks below: see the module.
api! {
    fn cudaGraphKernelNodeGetParams(node: *mut c_void, to: *mut KernelNode) {
        let found = with_runtime(|runtime| kernel_of(runtime, node))?;
        let parameters = KernelNode {
            function: found.key.0 as *const c_void,
            grid: found.launch.grid.into(),
            block: found.launch.block.into(),
            shared_bytes: found.launch.shared_bytes as c_uint,
            arguments: found.arguments,
            extra: std::ptr::null(),
        };
        // SAFETY: the program passes `to` as null or room for `KernelNode`.
        unsafe { give(to, parameters) }
    }

    fn cudaGraphMemsetNodeGetParams(node: *mut c_void, to: *mut MemsetNode) {
        let found = memset_of(node)?;
        // SAFETY: the program passes `to` as null or room for `MemsetNode`.
        unsafe { give(to, found) }
    }

    fn cudaGraphHostNodeGetParams(node: *mut c_void, to: *mut HostNode) {
        let found = host_of(node)?;
        // SAFETY: the program passes `to` as null or room for `HostNode`.
        unsafe { give(to, found) }
    }

    fn cudaGraphEventRecordNodeGetEvent(node: *mut c_void, to: *mut *mut c_void) {
        let event = event_of(node, true)?;
        // SAFETY: the program passes `to` as null or room for a handle.
        unsafe { give(to, event as *mut c_void) }
    }

    fn cudaGraphEventWaitNodeGetEvent(node: *mut c_void, to: *mut *mut c_void) {
        let event = event_of(node, false)?;
        // SAFETY: the program passes `to` as null or room for a handle.
        unsafe { give(to, event as *mut c_void) }
    }

    fn cudaGraphEventRecordNodeSetEvent(node: *mut c_void, event: *mut c_void) {
        set_node(node, |_| Ok(Work::Record(address(event))))
    }

    fn cudaGraphEventWaitNodeSetEvent(node: *mut c_void, event: *mut c_void) {
        set_node(node, |_| Ok(Work::Wait(address(event))))
    }

    fn cudaGraphExecEventRecordNodeSetEvent(executable: *mut c_void, node: *mut c_void, event: *mut c_void) {
        set_step(executable, node, |_| Ok(Work::Record(address(event))))
    }

    fn cudaGraphExecEventWaitNodeSetEvent(executable: *mut c_void, node: *mut c_void, event: *mut c_void) {
        set_step(executable, node, |_| Ok(Work::Wait(address(event))))
    }

    fn cudaGraphNodeSetParams(node: *mut c_void, parameter: *const NodeParameters) {
        // SAFETY: the program passes `parameter` as null or a pointer to `NodeParameters`.
        set_node(node, |runtime| unsafe { work_of(parameter, kernel_work, runtime) })
    }

    fn cudaGraphExecNodeSetParams(executable: *mut c_void, node: *mut c_void, parameter: *const NodeParameters) {
        // SAFETY: the program passes `parameter` as null or a pointer to `NodeParameters`.
        set_step(executable, node, |runtime| unsafe { work_of(parameter, kernel_work, runtime) })
    }

    fn cudaGraphNodeSetEnabled(executable: *mut c_void, node: *mut c_void, enabled: c_uint) {
        with_runtime(|runtime| {
            let step = step_of(runtime, executable, node)?;
            if !matches!(step.work, Work::Kernel(..) | Work::Copy(..) | Work::Fill(..)) {
                let message = "only kernels, copies and fills can be switched off";
                return Err(Fault::new(CudaError::INVALID_VALUE, message));
            }
            step.enabled = enabled != 0;
            Ok(())
        })
    }

    fn cudaGraphNodeGetEnabled(executable: *mut c_void, node: *mut c_void, to: *mut c_uint) {
        let enabled = with_runtime(|runtime| Ok(step_of(runtime, executable, node)?.enabled))?;
        // SAFETY: the program passes `to` as null or room for an unsigned int.
        unsafe { give(to, enabled.into()) }
    }

    fn cudaGraphNodeFindInClone(to: *mut *mut c_void, original: *mut c_void, copy: *mut c_void) {
        let node = with_runtime(|runtime| runtime.node_in_clone(address(original), address(copy)))?;
        // SAFETY: the program passes `to` as null or room for a handle.
        unsafe { give(to, node as *mut c_void) }
    }

    fn cudaGraphNodeGetContainingGraph(node: *mut c_void, to: *mut *mut c_void) {
        let graph = with_runtime(|runtime| runtime.graph_of(address(node)))?;
        // SAFETY: the program passes `to` as null or room for a handle.
        unsafe { give(to, graph as *mut c_void) }
    }

    fn cudaGraphKernelNodeSetAttribute(node: *mut c_void, id: c_uint, value: *const [u64; 8]) {
        if value.is_null() {
            return Err(null());
        }
        // SAFETY: the program passes `value` as null or a pointer to `[u64; 8]`.
        let value = unsafe { value.read_unaligned() };
        with_runtime(|runtime| {
            runtime.change_launch(address(node), |launch| apply_attribute(launch, id, &value))
        })
    }

    fn cudaGraphKernelNodeGetAttribute(node: *mut c_void, id: c_uint, to: *mut [u64; 8]) {
        let found = with_runtime(|runtime| kernel_of(runtime, node))?;
        // SAFETY: the program passes `to` as null or room for `[u64; 8]`.
        unsafe { give(to, attribute(&found.launch, id)) }
    }

    fn cudaGraphKernelNodeCopyAttributes(to: *mut c_void, from: *mut c_void) {
        with_runtime(|runtime| {
            let Launch { cooperative, cluster, .. } = kernel_of(runtime, from)?.launch;
            runtime.change_launch(address(to), |launch| (launch.cooperative, launch.cluster) = (cooperative, cluster))
        })
    }

    fn cudaGraphDebugDotPrint(graph: *mut c_void, path: *const c_char, _flags: c_uint) {
        if path.is_null() {
            return Err(null());
        }
        let text = with_runtime(|runtime| drawing(runtime, address(graph)))?;
        // SAFETY: the program passes `path` as null or a C string.
        let path = unsafe { CStr::from_ptr(path) };
        let path = Path::new(std::ffi::OsStr::from_bytes(path.to_bytes()));
        std::fs::write(path, text).map_err(|error| {
            let message = format!("cannot write {}: {error}", path.display());
            Fault::new(CudaError::OPERATING_SYSTEM, message)
        })
    }

    fn cudaGraphAddMemcpyNodeToSymbol(to: *mut *mut c_void, graph: *mut c_void, after: *const u64, count: usize, symbol: *const c_void, source: *const c_void, bytes: usize, offset: usize, kind: c_int) {
        // SAFETY: the program passes `to` as null or room for a handle; `after` as null or with `count` values.
        unsafe { add(&Place { to, graph, after, count }, copy_of_symbol(symbol, source, (bytes, offset), true, kind)) }
    }

    fn cudaGraphAddMemcpyNodeFromSymbol(to: *mut *mut c_void, graph: *mut c_void, after: *const u64, count: usize, destination: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int) {
        // SAFETY: the program passes `to` as null or room for a handle; `after` as null or with `count` values.
        unsafe { add(&Place { to, graph, after, count }, copy_of_symbol(symbol, destination, (bytes, offset), false, kind)) }
    }

    fn cudaGraphMemcpyNodeSetParamsToSymbol(node: *mut c_void, symbol: *const c_void, source: *const c_void, bytes: usize, offset: usize, kind: c_int) {
        set_node(node, copy_of_symbol(symbol, source, (bytes, offset), true, kind))
    }

    fn cudaGraphMemcpyNodeSetParamsFromSymbol(node: *mut c_void, destination: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int) {
        set_node(node, copy_of_symbol(symbol, destination, (bytes, offset), false, kind))
    }

    fn cudaGraphExecMemcpyNodeSetParamsToSymbol(executable: *mut c_void, node: *mut c_void, symbol: *const c_void, source: *const c_void, bytes: usize, offset: usize, kind: c_int) {
        set_step(executable, node, copy_of_symbol(symbol, source, (bytes, offset), true, kind))
    }

    fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(executable: *mut c_void, node: *mut c_void, destination: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int) {
        set_step(executable, node, copy_of_symbol(symbol, destination, (bytes, offset), false, kind))
    }
}
