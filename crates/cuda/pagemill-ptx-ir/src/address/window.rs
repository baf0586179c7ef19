//! The generic address space: windows far above any allocation, one per state space that is not global memory.

/// Generic addresses of the block's shared memory start here.
pub const SHARED: u64 = 1 << 56;
/// Generic addresses of the thread's local memory start here.
pub const LOCAL: u64 = 2 << 56;
/// Constant variables are placed from here; their generic and constant addresses are equal.
pub const CONSTANT: u64 = 3 << 56;
/// Generic addresses of the kernel's parameters start here.
pub const PARAM: u64 = 4 << 56;
/// Where the timing model sees local memory: interleaved by lane, apart for every warp.
pub const LOCAL_BACKING: u64 = 5 << 56;
/// Where functions have their addresses: they can be compared and called, not read.
pub const FUNCTION: u64 = 6 << 56;
/// Size of each window in bytes.
pub const BYTES: u64 = 1 << 56;

/// Which space a generic address falls into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    Global,
    Shared,
    Local,
    Constant,
    Param,
}

impl Window {
    #[inline(always)]
    pub fn of(address: u64) -> Self {
        match address / BYTES {
            1 => Self::Shared,
            2 => Self::Local,
            3 => Self::Constant,
            4 => Self::Param,
            _ => Self::Global,
        }
    }
}
