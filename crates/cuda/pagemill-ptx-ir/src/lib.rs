//! The language between lowering and what executes, compiles or checks a kernel: instructions, their operands, the registers
//! that they name, and what a lane of each computes.
//!
//! Data flows one way: text -> [`ast`] -> [`code`], in which every operation is an [`op`] over lines ([`mod@line`]) of 32 lanes.

#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "names are those of the PTX ISA, or of operands and slots that the type's line describes"
)]

pub mod address;
pub mod ast;
pub mod code;
pub mod float;
pub mod functions;
pub mod info;
pub mod line;
pub mod op;
pub mod tensor;
