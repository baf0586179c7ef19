//! Nodes of graphs that allocate and free memory.

use std::ffi::{c_int, c_void};

use super::graph::{Place, add};
use super::{OutPtr, address, api, null, with_runtime};
use crate::error::Fault;
use crate::runtime::Work;

/// `cudaMemAllocNodeParams`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct AllocationNode {
    /// `cudaMemPoolProps` and a list of `cudaMemAccessDesc`, which change nothing: there is one GPU.
    properties: [u64; 13],
    bytes: usize,
    address: u64,
}

/// `cudaGraphMemAttributeType`.
const USED_NOW: c_int = 0;
const USED_MOST: c_int = 1;
const RESERVED_NOW: c_int = 2;
const RESERVED_MOST: c_int = 3;

fn unknown(attribute: c_int) -> Fault {
    let message = format!("there is no attribute {attribute} of the memory of graphs");
    Fault::invalid(message)
}

api! {
    fn cudaGraphAddMemAllocNode(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, count: usize, node: *mut AllocationNode) {
        if node.is_null() {
            return Err(null());
        }
        // SAFETY: the program passes `node` as null or room for `AllocationNode`.
        let mut parameters = unsafe { node.read_unaligned() };
        let (work, address) = with_runtime(|runtime| runtime.device.graph_allocation(parameters.bytes as u64))?;
        parameters.address = address;
        // SAFETY: `after` is null or has `count` nodes; `node` is not null, and the program looks for the address there.
        unsafe {
            add(&Place { to, graph, after, count }, |_| Ok(work))?;
            node.write_unaligned(parameters);
        }
        Ok(())
    }

    fn cudaGraphAddMemFreeNode(to: OutPtr<*mut c_void>, graph: *mut c_void, after: *const u64, count: usize, pointer: *mut c_void) {
        // SAFETY: `after` is null or has `count` nodes.
        unsafe { add(&Place { to, graph, after, count }, |_| Ok(Work::Free(address(pointer)))) }
    }

    fn cudaDeviceGraphMemTrim(device: c_int) {
        // Memory of graphs goes back to the GPU when it is freed.
        super::device::only(device)
    }

    fn cudaDeviceGetGraphMemAttribute(device: c_int, attribute: c_int, to: OutPtr<u64>) {
        super::device::only(device)?;
        let (now, most) = with_runtime(|runtime| Ok(runtime.graph_memory.bytes()))?;
        let value = match attribute {
            USED_NOW | RESERVED_NOW => now,
            USED_MOST | RESERVED_MOST => most,
            _ => return Err(unknown(attribute)),
        };
        to.put(value)
    }

    fn cudaDeviceSetGraphMemAttribute(device: c_int, attribute: c_int, _value: *const u64) {
        super::device::only(device)?;
        if !matches!(attribute, USED_MOST | RESERVED_MOST) {
            return Err(unknown(attribute));
        }
        with_runtime(|runtime| {
            runtime.graph_memory.reset_peak();
            Ok(())
        })
    }
}
