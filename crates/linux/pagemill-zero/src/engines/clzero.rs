//! AMD's instruction that clears one cache line.

use super::cpu::{CpuEngine, probe};
use super::engine::EngineEntry;

/// One line an instruction, past the caches.
pub(super) const ENTRY: EngineEntry = EngineEntry {
    name: "clzero",
    summary: "AMD's clzero, one cache line an instruction",
    probe: || probe(is_there(), "clzero"),
    open: || match probe(is_there(), "clzero").missing("clzero") {
        Some(error) => Err(error),
        None => Ok(CpuEngine::boxed("clzero", clear)),
    },
};

#[cfg(target_arch = "x86_64")]
fn is_there() -> bool {
    use std::arch::x86_64::__cpuid;
    const FEATURES: u32 = 0x8000_0008;
    __cpuid(0x8000_0000).eax >= FEATURES && __cpuid(FEATURES).ebx & 1 != 0
}

#[cfg(target_arch = "x86_64")]
fn clear(page: &mut [u8]) {
    const LINE_BYTES: usize = 64;
    if !page.as_ptr().addr().is_multiple_of(LINE_BYTES) || !page.len().is_multiple_of(LINE_BYTES) {
        page.fill(0);
        return;
    }
    for line in page.chunks_exact_mut(LINE_BYTES) {
        // SAFETY: writes the aligned 64-byte line that rax points into, which is `line`.
        unsafe {
            std::arch::asm!("clzero", in("rax") line.as_mut_ptr(), options(nostack, preserves_flags));
        }
    }
    // Lines cleared this way are weakly ordered.
    // SAFETY: every x86-64 processor has this fence.
    unsafe { std::arch::x86_64::_mm_sfence() };
}

#[cfg(not(target_arch = "x86_64"))]
fn is_there() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn clear(page: &mut [u8]) {
    page.fill(0);
}
