//! PTX text to executable warps: what a CUDA kernel computes and which bytes it touches, without time.
//!
//! Data flows one way: text -> [`pagemill_ptx_parse`] -> [`pagemill_ptx_lower`] (inlining, control flow, registers,
//! decoding) -> [`Kernel`] -> `exec` (warps that step). See `docs/adr/0002-ptx-execution.md`.

mod block;
mod check;
mod device_runtime;
mod exec;
mod functional;
mod launch;
mod memory;
mod precomputed_trace;
mod program;
mod texture;

pub use block::Block;
pub use check::{CheckTime, Defect, Finding, LaunchSpan, Trace, Traces};
pub use device_runtime::{DeviceFacts, DeviceLaunch, DeviceWork, QueuedWork, Rows};
pub use exec::service::Output;
pub use exec::step::{
    AccessSpace, BarrierPhase, LanePlaces, MemoryAccess, Step, StepEnd, StepTotals,
};
pub use exec::trap::{Trap, TrapKind};
pub use functional::{FunctionalRun, FunctionalTotals, Patience, run_functional};
pub use launch::cost::InstructionCosts;
pub use launch::{Executor, Launch, LaunchError};
pub use memory::{
    Allocation, AllocationId, DeviceMemory, MemoryError, NearAllocation, Nearest, TOUCH_BYTES,
    Touch,
};
pub use pagemill_ptx_ir::ast::error::PtxError;
pub use pagemill_ptx_ir::code::entry::Entry;
pub use pagemill_ptx_ir::code::{AccessKind, CacheHint};
pub use pagemill_ptx_ir::info::{
    ClusterNeeds, InstructionClass, InstructionInfo, IssueOrder, Param,
};
pub use pagemill_ptx_ir::tensor::{
    RANK_MAX, Swizzle, TENSOR_MAP_BYTES, TensorDimension, TensorElement, TensorMap,
};
pub use pagemill_ptx_lower::{SupportedOpcode, supported_opcodes};
pub use precomputed_trace::Ahead;
pub use program::kernel::Kernel;
pub use program::module::{Linked, Module};
pub use program::names::{readable_list, readable_name, readable_text};
pub use texture::{AddressMode, ChannelKind, Image, Mipmap, Sampler, Texel, Texture};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
