//! Computing as a number of instructions, which is the same in every run, however fast the computer is.
//!
//! `pagemill mpi --compute counted` has three parts in one library, which finds out by itself where it is:
//! * in a rank as the launcher starts it, it [starts the rank again](restart) in QEMU's user mode, which translates its instructions;
//! * in QEMU it is a [plugin], which counts what each thread of the rank executes;
//! * in the rank, which QEMU runs, it [reads](reader) these counts, in memory that both share.
//!
//! Counters of processors would be faster. They are not in every virtual machine, and on x86 count each interrupt as an instruction.

use std::sync::atomic::{AtomicU32, AtomicU64};

pub mod plugin;
pub mod reader;
pub mod restart;

/// The path of QEMU's user mode, in a job whose instructions are counted.
pub const EMULATOR_VARIABLE: &str = "PAGEMILL_FABRIC_EMULATOR";

/// The descriptor of the counts, in a rank that QEMU runs.
const COUNTS_VARIABLE: &str = "PAGEMILL_FABRIC_COUNTS";

/// Threads of a rank that are counted at the same time.
const SLOTS: usize = 1024;

/// What one thread executes; on a cache line of its own.
#[repr(C, align(64))]
#[derive(Debug, Default)]
struct Slot {
    /// The thread's number at the kernel, or 0.
    thread: AtomicU32,
    /// Whether code executes that is not counted: 1 or 0.
    is_library: AtomicU32,
    /// Instructions that are counted, and the others.
    executed: [AtomicU64; 2],
}

/// The counts of a rank, as they lie in shared memory.
type Slots = [Slot; SLOTS];
