//! The machines as their users call them: a file for each.

#[path = "common/a100.rs"]
mod a100;
mod fault_path;
mod paging;
mod patterns;
