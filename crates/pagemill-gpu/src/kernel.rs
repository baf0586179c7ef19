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
                include_str!("../../../workloads/uvm-grid-stride/uvm-grid-stride.ptx")
            }
            AccessPattern::BlockStride => {
                include_str!("../../../workloads/uvm-block-stride/uvm-block-stride.ptx")
            }
            AccessPattern::RandomWarp => {
                include_str!("../../../workloads/uvm-random-warp/uvm-random-warp.ptx")
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
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// What the kernels may use: all in PTX ISA 6.0 for sm_70 (PTX ISA 6.0, chapter 9).
    const KNOWN: &[&str] = &[
        "ld.param.u64",
        "ld.global.f32",
        "st.global.f32",
        "cvta.to.global.u64",
        "mov.u32",
        "mov.u64",
        "mov.f32",
        "cvt.u64.u32",
        "cvt.u32.u64",
        "cvt.s64.s32",
        "add.s64",
        "add.f32",
        "sub.s64",
        "mul.lo.s64",
        "mul.wide.u32",
        "mul.wide.s32",
        "mad.lo.s64",
        "div.u64",
        "div.u32",
        "rem.u64",
        "rem.u32",
        "and.b64",
        "and.b32",
        "or.b64",
        "shl.b64",
        "min.u64",
        "setp.eq.s64",
        "setp.ne.s32",
        "setp.ge.u64",
        "setp.lt.u64",
        "setp.gt.u64",
        "setp.ge.s64",
        "bra",
        "bra.uni",
        "bar.sync",
        "ret",
    ];

    fn instructions(ptx: &str) -> BTreeSet<&str> {
        let code = ptx.lines().map(str::trim).filter(|line| {
            line.ends_with(';') && !line.starts_with('.') && !line.starts_with("//")
        });
        code.map(|line| {
            let unguarded = match line.strip_prefix('@') {
                Some(rest) => rest.split_once(' ').map_or("", |(_, rest)| rest),
                None => line,
            };
            unguarded.split([' ', '\t', ';']).next().unwrap_or_default()
        })
        .collect()
    }

    #[test]
    fn kernels_use_nothing_newer_than_the_lowered_header_says() {
        for kernel in Kernel::all() {
            let unknown: Vec<_> = instructions(kernel.ptx())
                .into_iter()
                .filter(|instruction| !KNOWN.contains(instruction))
                .collect();
            assert!(
                unknown.is_empty(),
                "{}: look up {unknown:?} in PTX ISA 6.0",
                kernel.entry()
            );
        }
    }

    #[test]
    fn only_the_header_changes() {
        for kernel in Kernel::all() {
            let (made, lowered) = (kernel.ptx(), for_any_driver(kernel.ptx()));
            let changed: Vec<_> = made
                .lines()
                .zip(lowered.lines())
                .filter(|(old, new)| old != new)
                .map(|(_, new)| new)
                .collect();
            assert_eq!(changed, [".version 6.0", ".target sm_70"]);
            assert_eq!(made.lines().count(), lowered.lines().count());
        }
    }

    #[test]
    fn every_kernel_is_in_its_ptx_with_its_arguments() {
        for kernel in Kernel::all() {
            let module = pagemill_ptx::Module::load(kernel.entry(), &for_any_driver(kernel.ptx()))
                .unwrap_or_else(|error| panic!("{error}"));
            let found = module.kernel(kernel.entry()).expect("it is in its PTX");
            assert_eq!(found.params.len(), 1 + kernel.scalar_count());
            assert!(found.params.iter().all(|parameter| parameter.bytes == 8));
        }
    }
}
