//! Nodes of graphs whose parameters the driver API lays out in its own way.

use std::ffi::{c_uint, c_ulonglong, c_void};

use super::copy::Memcpy3d;
use super::driver;
use super::launch::Arguments;
use crate::error::Fault;
use crate::ffi::graph::{MemsetNode, Place, add, instantiate, parameters, set_step};
use crate::ffi::graph_node::{self, NodeParameters};
use crate::ffi::{address, give};
use crate::runtime::{FunctionKey, Launch, Runtime, StreamId, Work};

/// `CUDA_KERNEL_NODE_PARAMS_v2`, whose beginning is that of the first version.
#[repr(C)]
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
        // SAFETY: by the contract of this function.
        let block = runtime.prepare(key, &launch, |params, bytes| unsafe {
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
/// As [`graph_node::work_of`].
unsafe fn kernel_work(node: *const c_void, runtime: &mut Runtime) -> Result<Work, Fault> {
    // SAFETY: by the contract of this function.
    unsafe {
        let node = parameters(node.cast::<KernelNode2>())?.node();
        node.work(runtime)
    }
}

// SAFETY, of all blocks below: see the module.
driver! { Context:
    fn cuGraphAddKernelNode(to: *mut *mut c_void, graph: *mut c_void, after: *const u64, count: usize, node: *const KernelNode) {
        // SAFETY: the program passes `to` as null or room for a handle; `after` as null or with `count` values; `node`
        // as null or a pointer to `KernelNode`.
        unsafe {
            let node = parameters(node)?;
            add(&Place { to, graph, after, count }, |runtime| node.work(runtime))
        }
    }

    fn cuGraphAddKernelNode_v2(to: *mut *mut c_void, graph: *mut c_void, after: *const u64, count: usize, node: *const KernelNode2) {
        // SAFETY: the program passes `to` as null or room for a handle; `after` as null or with `count` values; `node`
        // as null or a pointer to `KernelNode2`.
        unsafe {
            let node = parameters(node)?.node();
            add(&Place { to, graph, after, count }, |runtime| node.work(runtime))
        }
    }

    fn cuGraphAddMemcpyNode(to: *mut *mut c_void, graph: *mut c_void, after: *const u64, count: usize, node: *const Memcpy3d, _context: *mut c_void) {
        // SAFETY: the program passes `to` as null or room for a handle; `after` as null or with `count` values; `node`
        // as null or a pointer to `Memcpy3d`.
        unsafe {
            let node = parameters(node)?;
            add(&Place { to, graph, after, count }, |runtime| node.work(runtime))
        }
    }

    fn cuGraphAddMemsetNode(to: *mut *mut c_void, graph: *mut c_void, after: *const u64, count: usize, node: *const MemsetNode, _context: *mut c_void) {
        // SAFETY: the program passes `to` as null or room for a handle; `after` as null or with `count` values; `node`
        // as null or a pointer to `MemsetNode`.
        unsafe {
            let node = parameters(node)?;
            add(&Place { to, graph, after, count }, |_| node.work())
        }
    }

    fn cuGraphAddNode(to: *mut *mut c_void, graph: *mut c_void, after: *const u64, count: usize, parameter: *mut NodeParameters) {
        // SAFETY: the program passes `to` as null or room for a handle; `parameter` as null or room for
        // `NodeParameters`; `after` as null or with `count` values.
        unsafe { graph_node::add_any(&Place { to, graph, after, count }, parameter, kernel_work) }
    }

    fn cuGraphAddNode_v2(to: *mut *mut c_void, graph: *mut c_void, after: *const u64, _edges: *const c_void, count: usize, parameter: *mut NodeParameters) {
        // SAFETY: the program passes `to` as null or room for a handle; `parameter` as null or room for
        // `NodeParameters`; `after` as null or with `count` values.
        unsafe { graph_node::add_any(&Place { to, graph, after, count }, parameter, kernel_work) }
    }

    fn cuGraphExecKernelNodeSetParams(executable: *mut c_void, node: *mut c_void, parameter: *const KernelNode) {
        // SAFETY: the program passes `parameter` as null or a pointer to `KernelNode`.
        unsafe {
            let kernel = parameters(parameter)?;
            set_step(executable, node, |runtime| kernel.work(runtime))
        }
    }

    fn cuGraphExecKernelNodeSetParams_v2(executable: *mut c_void, node: *mut c_void, parameter: *const KernelNode2) {
        // SAFETY: the program passes `parameter` as null or a pointer to `KernelNode2`.
        unsafe {
            let kernel = parameters(parameter)?.node();
            set_step(executable, node, |runtime| kernel.work(runtime))
        }
    }

    fn cuGraphExecMemcpyNodeSetParams(executable: *mut c_void, node: *mut c_void, parameter: *const Memcpy3d, _context: *mut c_void) {
        // SAFETY: the program passes `parameter` as null or a pointer to `Memcpy3d`.
        let copy = unsafe { parameters(parameter)? };
        set_step(executable, node, |runtime| copy.work(runtime))
    }

    fn cuGraphExecMemsetNodeSetParams(executable: *mut c_void, node: *mut c_void, parameter: *const MemsetNode, _context: *mut c_void) {
        // SAFETY: the program passes `parameter` as null or a pointer to `MemsetNode`.
        let memset = unsafe { parameters(parameter)? };
        set_step(executable, node, |_| memset.work())
    }

    fn cuGraphInstantiate_v2(to: *mut *mut c_void, graph: *mut c_void, failed: *mut *mut c_void, _log: *mut std::ffi::c_char, _log_bytes: usize) {
        if !failed.is_null() {
            // SAFETY: the program passes `failed` as null or room for a handle.
            unsafe { give(failed, std::ptr::null_mut())? };
        }
        // SAFETY: the program passes `to` as null or room for a handle.
        unsafe { instantiate(to, graph) }
    }

    fn cuGraphInstantiateWithParams(to: *mut *mut c_void, graph: *mut c_void, parameter: *mut [c_ulonglong; 4]) {
        // Flags, the stream of the upload, the node that failed, the verdict.
        if !parameter.is_null() {
            // SAFETY: the program passes `parameter` as null or room for `[c_ulonglong; 4]`.
            unsafe {
                give(parameter.cast::<u64>().add(2), 0)?;
                give(parameter.cast::<u32>().add(6), 0)?;
            }
        }
        // SAFETY: the program passes `to` as null or room for a handle.
        unsafe { instantiate(to, graph) }
    }
}
