//! The kernels of the patterns, and their PTX as any driver reads it.

use pagemill_policy::residency::{AccessPattern, Variant};

/// Threads of a block, as in the published benchmark.
pub const THREADS_PER_BLOCK: u32 = 128;

/// One of the benchmark's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel {
    /// What it reads.
    pub pattern: AccessPattern,
    /// How warps of a block keep together.
    pub variant: Variant,
}

impl Kernel {
    /// Every kernel.
    pub fn all() -> impl Iterator<Item = Self> {
        AccessPattern::ALL.into_iter().flat_map(|pattern| {
            Variant::ALL
                .into_iter()
                .map(move |variant| Self { pattern, variant })
        })
    }

    /// Its name in the PTX.
    pub fn entry(self) -> &'static str {
        match (self.pattern, self.variant) {
            (AccessPattern::GridStride, Variant::FreeRunning) => "uvm_grid_stride",
            (AccessPattern::GridStride, Variant::LockStep) => "uvm_grid_stride_lock_step",
            (AccessPattern::BlockStride, Variant::FreeRunning) => "uvm_block_stride",
            (AccessPattern::BlockStride, Variant::LockStep) => "uvm_block_stride_lock_step",
            (AccessPattern::RandomWarp, Variant::FreeRunning) => "uvm_random_warp",
            (AccessPattern::RandomWarp, Variant::LockStep) => "uvm_random_warp_lock_step",
        }
    }

    /// Arguments after the data, 8 bytes each.
    pub fn scalar_count(self) -> usize {
        match self.pattern {
            AccessPattern::GridStride | AccessPattern::BlockStride => 1,
            AccessPattern::RandomWarp => 6,
        }
    }

    /// The PTX that holds it, as nvcc made it.
    pub fn ptx(self) -> &'static str {
        match self.pattern {
            AccessPattern::GridStride => {
                include_str!("../../../../workloads/uvm-grid-stride/uvm-grid-stride.ptx")
            }
            AccessPattern::BlockStride => {
                include_str!("../../../../workloads/uvm-block-stride/uvm-block-stride.ptx")
            }
            AccessPattern::RandomWarp => {
                include_str!("../../../../workloads/uvm-random-warp/uvm-random-warp.ptx")
            }
        }
    }
}

/// Oldest PTX version and target that have every instruction of the kernels: those of CUDA 9 and of the V100.
const OLDEST: [(&str, &str); 2] = [(".version", "6.0"), (".target", "sm_70")];

/// `ptx` with the version and the target of its header lowered.
///
/// nvcc writes its own version there, and a driver refuses PTX that is newer than itself, whatever is in it. Compilers of
/// CUDA 13 do not target the V100 any more either. The kernels use nothing that came after it; a test holds that.
pub fn for_any_driver(ptx: &str) -> String {
    let lowered = |line: &str| {
        let header = OLDEST
            .iter()
            .find(|(directive, _)| line.starts_with(directive));
        header.map(|(directive, oldest)| format!("{directive} {oldest}"))
    };
    let mut text = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        text.push_str(lowered(line).as_deref().unwrap_or(line));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests;
