//! The built-in GPU programs: inputs, host side, CPU references.
//!
//! A workload is written once, as an explicit-copy CUDA host program over [`pagemill_sim::Gpu`]; what its copies cost is the
//! simulator's business. Every run checks every result against code that runs on the CPU. [`registry`] lists them all.
#![forbid(unsafe_code)]

mod check;
mod elementary;
mod host;
mod parameter;
mod random;
mod registry;
mod words;
mod workload;

mod aes;
mod bfs;
mod cp;
mod laplace3d;
mod libor;
mod mum;
mod nn;
mod ray;
mod sto;
mod vector_add;
mod wp;

pub use parameter::{Parameter, ParameterError, Unit, Values};
pub use registry::{find, registry};
pub use workload::{Checked, Mismatch, Workload, WorkloadError, WorkloadInfo};
