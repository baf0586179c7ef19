//! The part of the CUDA runtime that kernels call themselves: launches, copies and fills, streams, errors.
//!
//! A kernel only asks. What it asks for waits in a queue until its grid has ended, because a kernel of compute capability
//! 9.0 cannot wait for its children; who runs grids takes the queue then ([`DeviceMemory::take_device_work`]). A parameter
//! buffer is memory that the parent fills with ordinary stores. See `docs/adr/0026-device-launches.md`.
//!
//! [`DeviceMemory::take_device_work`]: crate::DeviceMemory::take_device_work

pub(crate) mod codes;
mod requests;
pub(crate) mod state;
pub(crate) mod work;

pub use state::DeviceFacts;
pub use work::{DeviceLaunch, DeviceWork, QueuedWork, Rows};
