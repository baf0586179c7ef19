//! The simulators as their users call them: a file for each part of them.

mod bulk_copy;
mod clusters;
mod common;
mod fault_path;
mod gpu_choices;
mod gpu_detail;
mod gpu_errors;
mod gpu_ptx;
mod gpu_runtime;
mod gpu_synthetic;
mod lines;
mod nic_causes;
mod nic_errors;
mod nic_network;
mod nic_patterns;
mod nic_translation;
mod one_gpu;
mod page_map;
mod paging;
mod uvm;
