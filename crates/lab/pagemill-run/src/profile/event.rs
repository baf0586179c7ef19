//! What was recorded of a real GPU.

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it began, in nanoseconds of a clock.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// What it was.
    pub what: What,
}

/// What it was, and where: an address, and a number of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Managed memory was allocated, perhaps with the name of a variable.
    Allocated(u64, u64, Option<String>),
    /// A kernel of this name ran.
    Kernel(String),
    /// Threads of the GPU faulted on a page, as many as the second number.
    GpuFault(u64, u64),
    /// The CPU faulted on a page.
    CpuFault(u64),
    /// Pages moved to the GPU.
    Came(u64, u64, Why),
    /// Pages moved to the CPU.
    Left(u64, u64, Why),
    /// The program copied.
    Copied,
    /// Managed memory was given back.
    Freed(u64, u64),
}

/// Why pages moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It was not recorded.
    Unknown,
    /// A call asked for it.
    Call,
    /// They were touched on the other side.
    Touch,
    /// The driver expected them to be needed.
    Ahead,
    /// Room was needed on the GPU.
    Eviction,
    /// Access counters reported them.
    Counter,
}

impl Why {
    /// A cause as CUPTI numbers them.
    pub fn of_cupti(number: u32) -> Self {
        match number {
            1 => Self::Call,
            2 => Self::Touch,
            3 => Self::Ahead,
            4 => Self::Eviction,
            5 => Self::Counter,
            _ => Self::Unknown,
        }
    }
}
