//! Scenario and machine files to typed, checked specifications.
//!
//! [`load`] reads a scenario, its machine and the overrides of a command line, expands the sweep, and
//! finds everything that can be wrong with them before anything runs.
#![forbid(unsafe_code)]

mod digest;
pub mod document;
mod dotted_keys;
mod error;
mod files;
mod keys;
mod kind;
mod kind_names;
mod machine;
mod machine_files;
mod names;
mod overrides;
mod point;
pub mod quantity;
mod scenario;
mod snippet;
mod sourced;
mod statement;
mod sweep;
mod transfer;
mod workload;

pub use error::{InputErrors, Problem};
pub use files::{BuiltIn, FileHead, MACHINES, SCENARIOS};
pub use kind::coloring::{ColoringPages, ColoringPoint, NO_TASK, TaskSource};
pub use kind::cuda::{CudaPoint, CudaRun};
pub use kind::gpu::GpuPoint;
pub use kind::mpi::MpiPoint;
pub use kind::nic::{NIC_WORKLOADS, NicPoint, NicWorkload};
pub use kind::pager::{PAGER_WORKLOADS, PagerPoint, PagerSource};
pub use kind::residency::ResidencyPoint;
pub use kind::zeroing::{ZEROING_WORKLOADS, ZeroingPoint};
pub use machine::Machine;
pub use names::nearest;
pub use point::{Parameter, ParameterValue, Point, PointSpec};
pub use scenario::{Scenario, load, load_given, load_nic_machine, load_text};
pub use sourced::Setting;
pub use transfer::{IDEAL_OVERLAP, PROGRAMMER_COPY, Transfer, transfer_modes};
pub use workload::WorkloadSpec;
