//! The provider as libfabric calls it: C structures, tables of functions, handles. All code that trusts pointers is here.
//!
//! Each object that libfabric holds is a box that starts with libfabric's own structure, so that a pointer to one is a
//! pointer to the other.

#![allow(
    clippy::too_many_arguments,
    reason = "libfabric decides how many there are"
)]

pub mod abi;
mod domain;
mod endpoint;
mod fabric;
mod info;
mod memory;
mod message;
mod objects;
mod posting;
mod provider;
mod queue;
mod region;
mod rma;
mod tagged;
mod vector;

pub use info::PROVIDER_NAME;
pub use memory::own_memory;
pub use provider::fi_prov_ini;

use std::ffi::c_int;

/// The result of a data call: 0, or an error number, negative.
fn code(error: c_int) -> isize {
    -(error as isize)
}
