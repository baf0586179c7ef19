//! PTX text to executable warps: what a CUDA kernel computes and which bytes it touches, without time.
//!
//! Data flows one way: text -> [`parse`] -> [`ast`] -> `lower` (inlining, control flow, registers, decoding)
//! -> [`Kernel`] -> `exec` (warps that step). See `docs/adr/0002-ptx-execution.md`.

pub mod ast;
mod block;
mod check;
mod cluster;
mod device_runtime;
mod error;
mod exec;
mod functional;
mod ir;
mod launch;
mod lower;
mod memory;
mod native;
pub mod parse;
mod precomputed_trace;
mod program;
mod reserved;
mod tensor;
mod texture;
mod warp_group;
mod window;

pub use block::Block;
pub use check::{CheckTime, Defect, Finding, LaunchSpan, Trace, Traces};
pub use device_runtime::{DeviceFacts, DeviceLaunch, DeviceWork, QueuedWork, Rows};
pub use error::PtxError;
pub use exec::service::Output;
pub use exec::step::{
    AccessSpace, BarrierPhase, LanePlaces, MemoryAccess, Step, StepEnd, StepTotals,
};
pub use exec::trap::{Trap, TrapKind};
pub use functional::{FunctionalRun, FunctionalTotals, Patience, run_functional};
pub use ir::code::{AccessKind, CacheHint};
pub use ir::info::{ClusterNeeds, InstructionClass, InstructionInfo, IssueOrder, Param};
pub use launch::cost::InstructionCosts;
pub use launch::{Executor, Launch, LaunchError};
pub use lower::{SupportedOpcode, supported_opcodes};
pub use memory::{
    Allocation, AllocationId, DeviceMemory, MemoryError, NearAllocation, Nearest, TOUCH_BYTES,
    Touch,
};
pub use precomputed_trace::Ahead;
pub use program::kernel::Kernel;
pub use program::module::{Linked, Module};
pub use program::names::{readable_list, readable_name, readable_text};
pub use tensor::{RANK_MAX, Swizzle, TENSOR_MAP_BYTES, TensorDimension, TensorElement, TensorMap};
pub use texture::{AddressMode, ChannelKind, Image, Mipmap, Sampler, Texel, Texture};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
