//! What a kernel has asked for: launches, copies, fills.

use std::sync::Arc;

/// One thing that a kernel has asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedWork {
    /// What is to be done.
    pub work: DeviceWork,
    /// Whether it waits for everything else that its grid asked for, and for what that led to.
    pub is_tail: bool,
    /// How many grids it is below one of the host.
    pub depth: u32,
}

/// What is to be done once the grid that asked for it has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceWork {
    /// A grid.
    Launch(DeviceLaunch),
    /// A copy of rows.
    Copy {
        /// Where they go.
        to: Rows,
        /// Where they are.
        from: Rows,
        /// Bytes of a row.
        width: u64,
        /// How many.
        rows: u64,
    },
    /// Rows that get one value in all bytes.
    Fill {
        /// Where they are.
        to: Rows,
        /// The value.
        value: u8,
        /// Bytes of a row.
        width: u64,
        /// How many.
        rows: u64,
    },
}

/// Rows of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Address of the first.
    pub address: u64,
    /// Bytes from one to the next.
    pub pitch: u64,
}

impl Rows {
    pub(super) fn at(&self, row: u64) -> u64 {
        self.address.wrapping_add(self.pitch.wrapping_mul(row))
    }
}

/// A launch of a kernel by a kernel of the same module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceLaunch {
    /// Name as written (mangled).
    pub kernel: Arc<str>,
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Shared memory of a block beyond what the kernel declares, in bytes.
    pub dynamic_shared_bytes: u32,
    /// The argument block.
    pub arguments: Vec<u8>,
}
