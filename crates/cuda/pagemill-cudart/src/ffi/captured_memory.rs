//! Memory that a captured stream allocates and frees: nodes of the graph.

use std::ffi::c_void;

use super::{address, with_runtime};
use crate::error::Fault;
use crate::runtime::{StreamId, Work};

/// `cudaMallocAsync` in a stream that is captured: a node; `None` where it is not.
pub(super) fn capture_malloc(stream: StreamId, bytes: usize) -> Result<Option<u64>, Fault> {
    with_runtime(|runtime| {
        if !runtime.graphs.is_capturing(stream) {
            return Ok(None);
        }
        let (work, address) = runtime.device.graph_allocation(bytes as u64)?;
        runtime.graphs.note(stream, work)?;
        Ok(Some(address))
    })
}

/// `cudaFreeAsync` in a stream that is captured: a node; whether it is one.
pub(super) fn capture_free(stream: StreamId, pointer: *mut c_void) -> Result<bool, Fault> {
    with_runtime(|runtime| {
        if !runtime.graphs.is_capturing(stream) {
            return Ok(false);
        }
        runtime.graphs.note(stream, Work::Free(address(pointer)))?;
        Ok(true)
    })
}
