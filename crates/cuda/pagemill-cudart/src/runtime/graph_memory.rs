//! Memory that nodes of graphs allocate and free: its addresses are known when the node is made, the memory is there
//! from a launch on until it is freed, by a node or by the program.

use std::collections::BTreeMap;

use pagemill_types::VirtAddr;

use super::device::Device;
use super::memory::Kind;
use super::streams::StreamId;
use super::{Runtime, Work};
use crate::error::Fault;

/// Where memory of graphs begins.
const ALIGN_BYTES: u64 = 512;

/// What is allocated by graphs.
#[derive(Debug, Default)]
pub struct GraphMemory {
    live: BTreeMap<u64, u64>,
    most_bytes: u64,
}

impl GraphMemory {
    fn used(&self) -> u64 {
        self.live.values().sum()
    }

    /// The program, or a node, has freed what begins at `address`.
    pub(super) fn forget(&mut self, address: u64) {
        self.live.remove(&address);
    }

    /// Bytes that graphs have allocated now, and at most since [`GraphMemory::reset_peak`].
    pub fn bytes(&self) -> (u64, u64) {
        (self.used(), self.most_bytes)
    }

    /// Counts the most bytes anew.
    pub fn reset_peak(&mut self) {
        self.most_bytes = self.used();
    }
}

impl Device {
    /// Work that allocates `bytes`, and where they will be.
    ///
    /// # Errors
    /// More addresses than there are.
    pub fn graph_allocation(&mut self, bytes: u64) -> Result<(Work, u64), Fault> {
        let address = self.gpu.reserve_addresses(bytes.max(1), ALIGN_BYTES)?.0;
        Ok((Work::Allocate { address, bytes }, address))
    }
}

impl Runtime {
    /// Allocates in its turn in `stream`. Memory of an earlier launch that was never freed stays as it is.
    ///
    /// # Errors
    /// If the GPU has no room, or there is no such stream.
    pub fn allocate_at(&mut self, address: u64, bytes: u64, stream: StreamId) -> Result<(), Fault> {
        if bytes == 0 || self.device.blocks.contains_key(&address) {
            return Ok(());
        }
        let at = self.streams.start(stream)?.at;
        let buffer = self
            .device
            .gpu
            .alloc_fixed(at, "cudaGraphAddMemAllocNode", bytes)?;
        let buffer = self.device.gpu.move_fixed(buffer, VirtAddr(address))?;
        self.device.add_block(address, bytes, Kind::Device(buffer));
        self.graph_memory.live.insert(address, bytes);
        let used = self.graph_memory.used();
        self.graph_memory.most_bytes = self.graph_memory.most_bytes.max(used);
        Ok(())
    }
}
