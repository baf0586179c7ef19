//! The CUDA runtime API over the simulated GPU, so that unmodified CUDA programs run. See `docs/adr/0011-cudart.md`.
//!
//! [`Runtime`] is what happens, in safe code. `ffi` is the C border: pointers in, error codes out. `managed` maps memory
//! that both sides see.

pub mod api;
mod error;
mod fatbin;
mod ffi;
mod linked_ptx;
mod managed;
mod maps;
mod runtime;
mod setting;
mod tensor_map;

pub use error::{CudaError, Fault};
pub use fatbin::{FatBinaryError, ptx_images};
pub use runtime::{
    Array, Copy3d, Extent, FunctionAttributes, FunctionKey, Graph, Launch, Resource, Runtime, Side,
    Span, Step, StreamId, Work,
};
pub use setting::{Setting, SettingError};
