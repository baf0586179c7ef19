//! Memory that nodes of graphs allocate and free: its addresses are known when the node is made, the memory is there
//! from a launch on until it is freed, by a node or by the program.

use std::collections::BTreeMap;

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

    /// `bytes` at `address` are allocated.
    pub(super) fn add(&mut self, address: u64, bytes: u64) {
        self.live.insert(address, bytes);
        self.most_bytes = self.most_bytes.max(self.used());
    }
}
