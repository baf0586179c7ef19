//! Clean huge pages before anyone waits for them.
//!
//! * [`engines`]: who writes the zeroes, behind one interface.
//! * [`kernel`]: the helper of the kernel module.
//! * [`pool`]: the daemon that keeps files of clean huge pages and lends them.
//! * [`mod@bench`]: what both cost on this machine.
//! * [`advise`]: which kind of pages a program should run on.
//!
//! Unsafe code is in the engines: instructions that the compiler has no safe words for.

pub mod advise;
pub mod bench;
pub mod engines;
pub mod kernel;
pub mod pool;
