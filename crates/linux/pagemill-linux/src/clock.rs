//! Cycles, elapsed time and CPU time, in nanoseconds.

use rustix::time::{ClockId, clock_gettime};

fn now_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CPU time of the calling thread so far, user and kernel.
pub fn thread_cpu_ns() -> u64 {
    now_ns(ClockId::ThreadCPUTime)
}

/// CPU time of all threads of this process so far, user and kernel.
pub fn process_cpu_ns() -> u64 {
    now_ns(ClockId::ProcessCPUTime)
}

/// Time since some moment in the past, never going back.
pub fn monotonic_ns() -> u64 {
    now_ns(ClockId::Monotonic)
}

/// The time stamp counter, read after everything before it is done; nanoseconds where there is none. Its rate is
/// fixed, and in general not the core's.
#[inline]
pub fn cycles() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut processor = 0;
        // SAFETY: reads a register and writes to a live local. Every x86-64 processor of the last 15 years has it.
        unsafe { std::arch::x86_64::__rdtscp(&mut processor) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    monotonic_ns()
}

/// Cycles to read the bytes of `memory` at `offsets`, one after the other. The page that the last byte lies in is looked up before.
///
/// These bytes must be 0: each is needed to know where the next is, so that no two reads overlap.
pub fn timed_reads(memory: &[u8], offsets: &[usize]) -> u64 {
    std::hint::black_box(memory.last().copied());
    fence_loads();
    let begun = cycles();
    fence_loads();
    let mut zero = 0;
    for offset in offsets {
        zero = usize::from(std::hint::black_box(
            memory.get(offset + zero).copied().unwrap_or(0),
        ));
    }
    std::hint::black_box(zero);
    cycles() - begun
}

/// Nothing after it is read before it.
#[inline]
fn fence_loads() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has it, and it only waits.
    unsafe {
        std::arch::x86_64::_mm_lfence();
    }
}
