use pagemill_policy::residency::Call;

use crate::{GpuError, Kernel};

/// What there is to know about a GPU before anything is run on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuFacts {
    /// Number, from 0, in the driver's order.
    pub index: u32,
    /// Model: `NVIDIA H200`.
    pub name: String,
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Memory of the GPU.
    pub total_bytes: u64,
    /// PCI address: `0000:01:00.0`.
    pub pci_address: String,
    /// Newest CUDA version that the driver supports, major and minor.
    pub driver_cuda: (u32, u32),
    /// Whether the GPU can fault on managed memory while the CPU uses it too.
    pub has_faults: bool,
    /// Whether the GPU walks the host's page tables (POWER9, Grace). Such platforms have access counters switched on.
    pub uses_host_page_tables: bool,
}

/// An allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Address, the same for CPU and GPU.
    pub address: u64,
    /// Size.
    pub bytes: u64,
}

/// A kernel, its grid, and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// What to run.
    pub kernel: Kernel,
    /// Thread blocks of [`THREADS_PER_BLOCK`](crate::THREADS_PER_BLOCK) threads.
    pub blocks: u32,
    /// First argument: the data.
    pub buffer: Buffer,
    /// The other arguments, 8 bytes each.
    pub scalars: Vec<u64>,
}

/// What the benchmark asks of a GPU. The real one is [`CudaGpu`](crate::CudaGpu).
///
/// Everything is done in the order in which it is asked.
pub trait Gpu {
    /// What is known about it.
    fn facts(&self) -> &GpuFacts;

    /// Bytes of GPU memory that are free.
    ///
    /// # Errors
    /// If the driver does not answer.
    fn free_bytes(&self) -> Result<u64, GpuError>;

    /// Blocks of a kernel that one streaming multiprocessor holds at once.
    ///
    /// # Errors
    /// If the driver does not answer.
    fn resident_blocks(&self, kernel: Kernel) -> Result<u32, GpuError>;

    /// Allocates memory on the GPU that never moves.
    ///
    /// # Errors
    /// If the driver refuses.
    fn alloc_fixed(&mut self, bytes: u64) -> Result<Buffer, GpuError>;

    /// Allocates managed memory, which nothing populates yet.
    ///
    /// # Errors
    /// If the driver refuses.
    fn alloc_managed(&mut self, bytes: u64) -> Result<Buffer, GpuError>;

    /// Frees what one of the two calls above allocated.
    ///
    /// # Errors
    /// If the driver refuses.
    fn free(&mut self, buffer: Buffer) -> Result<(), GpuError>;

    /// Writes every byte of managed memory from the CPU.
    ///
    /// # Errors
    /// If work on the GPU that came before failed.
    fn write_from_cpu(&mut self, buffer: Buffer) -> Result<(), GpuError>;

    /// Carries out a call of a strategy. A prefetch is only started.
    ///
    /// # Errors
    /// If the driver refuses.
    fn call(&mut self, buffer: Buffer, call: &Call) -> Result<(), GpuError>;

    /// Waits until everything that was started is done.
    ///
    /// # Errors
    /// If any of it failed.
    fn finish(&mut self) -> Result<(), GpuError>;

    /// Runs a kernel to its end and says how long it took on the GPU, in nanoseconds.
    ///
    /// # Errors
    /// If it cannot be launched, or fails.
    fn time_ns(&mut self, launch: &Launch) -> Result<u64, GpuError>;
}
