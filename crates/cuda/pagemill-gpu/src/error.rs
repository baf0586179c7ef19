use crate::size::show_bytes;

/// Why a GPU cannot be used, or did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// There is no CUDA driver on this machine.
    #[error(
        "no CUDA driver: libcuda.so.1 is not where the dynamic linker looks; on a machine with an NVIDIA GPU install its \
         driver (Debian: sudo apt-get install nvidia-driver; container: run it with --gpus all)"
    )]
    NoLibrary,
    /// The driver is older than the calls that are needed.
    #[error(
        "the CUDA driver lacks {symbol}: install a driver for CUDA 11.4 or newer (470 or newer)"
    )]
    OldDriver {
        /// The call it lacks.
        symbol: &'static str,
    },
    /// The driver's library is there, and no GPU that it can use.
    #[error(
        "the CUDA driver finds no GPU ({found}): attach an NVIDIA GPU, load its kernel module (sudo modprobe nvidia), and \
         in a container pass it through (--gpus all)"
    )]
    NoGpu {
        /// What the driver answered.
        found: String,
    },
    /// A GPU was asked for that is not there.
    #[error("there is no GPU {asked}: this machine has {count}, numbered from 0")]
    NoSuchGpu {
        /// The number that was asked for.
        asked: u32,
        /// How many GPUs there are.
        count: u32,
    },
    /// The GPU cannot fault on managed memory, so none of this works on it.
    #[error(
        "{gpu} has no concurrent managed access, which page faults of the GPU need: use a GPU of compute capability 6.0 or \
         newer on Linux, outside of Windows' subsystem and of vGPU profiles without unified memory"
    )]
    NoFaults {
        /// Name of the GPU.
        gpu: String,
    },
    /// The data would not fit into the host's memory.
    #[error(
        "the benchmark writes {} of managed memory from the CPU, and the host has {} to spare: lower the factor to {}, or \
         use less of the GPU's memory with --gpu-memory",
        show_bytes(*.needed_bytes), show_bytes(*.available_bytes), hundredths(*.largest_factor_hundredths)
    )]
    HostMemory {
        /// Bytes of the allocation and of the margin.
        needed_bytes: u64,
        /// Bytes that the host can still give.
        available_bytes: u64,
        /// Largest factor that would fit, in hundredths.
        largest_factor_hundredths: u64,
    },
    /// Less of the GPU's memory is free than was asked for.
    #[error(
        "{} of GPU memory were asked for, {} are free of {}: stop what else runs on the GPU (nvidia-smi lists it), or ask \
         for less",
        show_bytes(*.asked_bytes), show_bytes(*.free_bytes), show_bytes(*.total_bytes)
    )]
    GpuMemory {
        /// Bytes that were asked for.
        asked_bytes: u64,
        /// Bytes that are free.
        free_bytes: u64,
        /// Bytes that the GPU has.
        total_bytes: u64,
    },
    /// A point of the benchmark makes no sense.
    #[error("{0}")]
    BadPoint(String),
    /// The driver refused the kernels.
    #[error("the driver cannot compile the kernels for {gpu}: {log}")]
    Kernels {
        /// Name of the GPU.
        gpu: String,
        /// What its compiler said.
        log: String,
    },
    /// A call failed.
    #[error("{call} failed while {doing}: {code} ({message})")]
    Call {
        /// Name in the driver's interface.
        call: &'static str,
        /// What it was needed for.
        doing: String,
        /// Name of the error.
        code: String,
        /// The driver's words.
        message: String,
    },
}

impl GpuError {
    /// Whether there is no usable GPU on this machine at all, as opposed to one that failed.
    pub fn is_missing_gpu(&self) -> bool {
        matches!(
            self,
            Self::NoLibrary | Self::OldDriver { .. } | Self::NoGpu { .. } | Self::NoFaults { .. }
        )
    }
}

/// `125` as `1.25`.
fn hundredths(count: u64) -> String {
    format!("{}.{:02}", count / 100, count % 100)
}
