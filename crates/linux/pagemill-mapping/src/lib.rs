#![doc = include_str!("../README.md")]

mod advice;
pub mod call;
#[cfg_attr(not(target_arch = "x86_64"), path = "no_dispatch.rs")]
pub mod dispatch;
#[doc(hidden)]
pub mod entry;
#[doc(hidden)]
pub mod export;
mod fork;
mod fork_detector;
mod heap;
pub mod jumps;
pub mod kernel;
mod lent_memory;
mod lock;
mod memory_calls;
pub mod next;
#[cfg_attr(not(target_arch = "x86_64"), path = "no_own.rs")]
pub mod own;
pub mod plain;
mod prologue;
mod range_table;
#[doc(hidden)]
pub mod references;
mod remap;
#[doc(hidden)]
pub mod rings;
mod source;

pub use call::{Call, Kind};
pub use heap::{Heap, KernelPages};
pub use lent_memory::LentMemory;
pub use lock::Lock;
pub use memory_calls::MemoryCalls;
pub use source::{BlockId, Source};
