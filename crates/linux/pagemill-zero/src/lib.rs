//! Clean huge pages before anyone waits for them.
//!
//! * [`engines`]: who writes the zeroes, behind one interface.
//! * [`kernel`]: the helper of the kernel module.
//! * [`pool`]: the daemon that keeps files of clean huge pages and lends them.
//!
//! Unsafe code is in the engines: instructions that the compiler has no safe words for.

pub mod engines;
pub mod kernel;
pub mod pool;
