//! The built-in programs. GPU programs have inputs, a host side and a CPU reference; CPU programs are streams of references.
//!
//! A workload is written once, as an explicit-copy CUDA host program over [`pagemill_sim::Gpu`]; what its copies cost is the
//! simulator's business. Every run checks every result against code that runs on the CPU. [`WORKLOADS`] lists
//! them all; [`CPU_PROGRAMS`] those for CPUs.
#![forbid(unsafe_code)]

mod check;
mod elementary;
mod host;
mod parameter;
mod random;
mod registry;
mod words;
mod workload;

mod cpu;

mod aes;
mod bfs;
mod cp;
mod fdtd_2d;
mod hotspot;
mod laplace3d;
mod libor;
mod line_reads;
mod matrix_product;
mod mum;
mod nn;
mod page_touch;
mod pointer_chase;
mod ray;
mod sto;
mod streams;
mod vector_add;
mod wp;

pub use cpu::{CPU_PROGRAMS, CpuProgramInfo};
pub use parameter::{Parameter, ParameterError, Unit, Values};
pub use registry::WORKLOADS;
pub use workload::{Checked, Mismatch, Workload, WorkloadError, WorkloadInfo};
