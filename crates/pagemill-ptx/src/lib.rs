//! PTX text to executable warps: what a CUDA kernel computes and which bytes it touches, without time.
//!
//! Data flows one way: text -> [`parse`] -> [`ast`] -> `lower` (inlining, control flow, registers, decoding)
//! -> [`Kernel`] -> `exec` (warps that step). See `docs/adr/0002-ptx-execution.md`.

pub mod ast;
mod error;
pub mod parse;

pub use error::PtxError;
