//! The helper of the kernel module `pagemill_zero`: it cleans what the module posts, with any engine that writes through this
//! process's page table (CPU stores, PoCL). The module takes a piece back by unmapping it, which stops such an engine and no other.

mod serve;

pub use serve::{HelperError, HelperSettings, serve};
