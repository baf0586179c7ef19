//! The GPU as its users call it: a file for each part of it.

mod bulk_copy;
mod clusters;
mod common;
mod gpu_choices;
mod gpu_detail;
mod gpu_errors;
mod gpu_ptx;
mod gpu_runtime;
mod gpu_synthetic;
mod lines;
mod load_store;
mod one_gpu;
mod page_map;
mod suspended;
