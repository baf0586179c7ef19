#![doc = include_str!("../README.md")]

mod advice;
pub mod call;
#[doc(hidden)]
pub mod entry;
#[doc(hidden)]
pub mod export;
mod fork;
mod fork_detector;
mod heap;
mod instructions;
pub mod kernel;
mod lent_memory;
mod lock;
mod memory_calls;
pub mod modules;
pub mod next;
pub mod plain;
#[doc(hidden)]
pub mod plugins;
mod range_table;
#[doc(hidden)]
pub mod references;
mod remap;
#[doc(hidden)]
pub mod rings;
mod source;

pub use call::{Call, Kind};
pub use heap::{Heap, KernelPages};
pub use instructions::Site;
pub use lent_memory::LentMemory;
pub use lock::Lock;
pub use memory_calls::MemoryCalls;
pub use source::{BlockId, Source};
