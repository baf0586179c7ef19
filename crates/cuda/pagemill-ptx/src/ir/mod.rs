//! The language between lowering and what executes, compiles or checks a kernel: instructions, their operands, the registers
//! that they name, and what a lane of each computes.

pub(crate) mod bank;
pub(crate) mod code;
pub(crate) mod float;
pub(crate) mod functions;
pub(crate) mod info;
pub(crate) mod line;
pub(crate) mod op;
