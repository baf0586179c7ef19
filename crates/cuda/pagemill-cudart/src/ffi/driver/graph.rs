//! Nodes of graphs whose parameters the driver API lays out in its own way.

use std::ffi::{c_uint, c_ulonglong, c_void};

use super::copy::Memcpy3d;
use super::driver;
use super::launch::Arguments;
use crate::error::Fault;
use crate::ffi::graph::{MemsetNode, Place, add, instantiate, set_step};
use crate::ffi::graph_node::{self, NodeParameters};
use crate::ffi::{InPtr, OutPtr, address};
use crate::runtime::{FunctionKey, Launch, Runtime, StreamId, Work};

/// `CUDA_KERNEL_NODE_PARAMS_v2`, whose beginning is that of the first version.
#[repr(C)]
#[derive(Clone, Copy)]
struct KernelNode {
    function: *const c_void,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    pointers: *const *const c_void,
    extra: *const *const c_void,
}

/// `CUDA_KERNEL_NODE_PARAMS_v2` behind what it has in common with the first version.
#[repr(C)]
#[derive(Clone, Copy)]
struct KernelNode2 {
    common: KernelNode,
    kernel: *const c_void,
    context: *mut c_void,
}

impl KernelNode {
    /// # Safety
    /// The arguments are as [`Arguments::block`] needs them.
    unsafe fn work(&self, runtime: &mut Runtime) -> Result<Work, Fault> {
        let key = FunctionKey(address(self.function));
        let launch = Launch {
            grid: self.grid,
            block: self.block,
            shared_bytes: self.shared_bytes.into(),
            stream: StreamId::LEGACY,
            cooperative: false,
            cluster: None,
        };
        let arguments = Arguments {
            pointers: self.pointers,
            extra: self.extra,
        };
        let mut kernels = runtime.kernels();
        // SAFETY: the program's lists have what the parameters of the kernel need, which it names beside them.
        let block = kernels.prepare(key, &launch, |params, bytes| unsafe {
            arguments.block(params, bytes)
        })?;
        Ok(Work::Kernel(key, launch, block))
    }
}

impl KernelNode2 {
    /// A kernel may stand in either field.
    fn node(self) -> KernelNode {
        match self.common.function.is_null() {
            true => KernelNode {
                function: self.kernel,
                ..self.common
            },
            false => self.common,
        }
    }
}

/// # Safety
/// `node` points to a [`KernelNode2`] whose arguments are there.
unsafe fn kernel_work(node: *const c_void, runtime: &mut Runtime) -> Result<Work, Fault> {
    // SAFETY: `node` is in the union of parameters whose kind is that of a kernel; it has an argument for each parameter.
    unsafe {
        let node = node.cast::<KernelNode2>().read_unaligned().node();
        node.work(runtime)
    }
}

driver! { Context:
    fn cuGraphAddKernelNode(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, count: usize, node: InPtr<KernelNode>) {
        let node = node.read()?;
        // SAFETY: `after` is null or has `count` nodes; the arguments of a kernel are there.
        unsafe { add(&Place { to, graph, after, count }, |runtime| node.work(runtime)) }
    }

    fn cuGraphAddKernelNode_v2(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, count: usize, node: InPtr<KernelNode2>) {
        let node = node.read()?.node();
        // SAFETY: `after` is null or has `count` nodes; the arguments of a kernel are there.
        unsafe { add(&Place { to, graph, after, count }, |runtime| node.work(runtime)) }
    }

    fn cuGraphAddMemcpyNode(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, count: usize, node: InPtr<Memcpy3d>, _context: *mut c_void) {
        let node = node.read()?;
        // SAFETY: `after` is null or has `count` nodes; the arguments of a kernel are there.
        unsafe { add(&Place { to, graph, after, count }, |runtime| node.work(runtime)) }
    }

    fn cuGraphAddMemsetNode(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, count: usize, node: InPtr<MemsetNode>, _context: *mut c_void) {
        let node = node.read()?;
        // SAFETY: `after` is null or has `count` nodes; the arguments of a kernel are there.
        unsafe { add(&Place { to, graph, after, count }, |_| node.work()) }
    }

    fn cuGraphAddNode(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, count: usize, parameter: *mut NodeParameters) {
        // SAFETY: `parameter` is null or a whole `NodeParameters`, and `after` null or `count` nodes.
        unsafe { graph_node::add_any(&Place { to, graph, after, count }, parameter, kernel_work) }
    }

    fn cuGraphAddNode_v2(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, _edges: *const c_void, count: usize, parameter: *mut NodeParameters) {
        // SAFETY: `parameter` is null or a whole `NodeParameters`, and `after` null or `count` nodes.
        unsafe { graph_node::add_any(&Place { to, graph, after, count }, parameter, kernel_work) }
    }

    fn cuGraphExecKernelNodeSetParams(executable: *mut c_void, node: *mut c_void, parameter: InPtr<KernelNode>) {
        let kernel = parameter.read()?;
        // SAFETY: the program's kernel has an argument for each of its parameters.
        set_step(executable, node, |runtime| unsafe { kernel.work(runtime) })
    }

    fn cuGraphExecKernelNodeSetParams_v2(executable: *mut c_void, node: *mut c_void, parameter: InPtr<KernelNode2>) {
        let kernel = parameter.read()?.node();
        // SAFETY: the program's kernel has an argument for each of its parameters.
        set_step(executable, node, |runtime| unsafe { kernel.work(runtime) })
    }

    fn cuGraphExecMemcpyNodeSetParams(executable: *mut c_void, node: *mut c_void, parameter: InPtr<Memcpy3d>, _context: *mut c_void) {
        let copy = parameter.read()?;
        set_step(executable, node, |runtime| copy.work(runtime))
    }

    fn cuGraphExecMemsetNodeSetParams(executable: *mut c_void, node: *mut c_void, parameter: InPtr<MemsetNode>, _context: *mut c_void) {
        let memset = parameter.read()?;
        set_step(executable, node, |_| memset.work())
    }

    fn cuGraphInstantiate_v2(to: OutPtr<*mut c_void>, graph: *mut c_void, failed: OutPtr<*mut c_void>, _log: *mut std::ffi::c_char, _log_bytes: usize) {
        failed.put_if_wanted(std::ptr::null_mut());
        instantiate(to, graph)
    }

    fn cuGraphInstantiateWithParams(to: OutPtr<*mut c_void>, graph: *mut c_void, parameter: *mut [c_ulonglong; 4]) {
        // Flags, the stream of the upload, the node that failed, the verdict.
        if !parameter.is_null() {
            // SAFETY: the program has room for the four fields, of which these two are results.
            unsafe {
                parameter.cast::<u64>().add(2).write_unaligned(0);
                parameter.cast::<u32>().add(6).write_unaligned(0);
            }
        }
        instantiate(to, graph)
    }
}
