//! The built-in programs. GPU programs have inputs, a host side and a CPU reference; CPU programs are streams of references.
//!
//! A workload is written once, as an explicit-copy CUDA host program over [`pagemill_sim::Gpu`]; what its copies cost is the
//! simulator's business. Every run checks every result against code that runs on the CPU. [`registry`] lists
//! them all; [`cpu_programs`] those for CPUs.
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
mod laplace3d;
mod libor;
mod mum;
mod nn;
mod pointer_chase;
mod ray;
mod sto;
mod streams;
mod vector_add;
mod wp;

pub use cpu::{CpuProgramInfo, cpu_programs, find_cpu_program};
pub use parameter::{Parameter, ParameterError, Unit, Values};
pub use registry::{find, registry};
pub use workload::{Checked, Mismatch, Workload, WorkloadError, WorkloadInfo};
