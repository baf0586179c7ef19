//! Bytes of instructions, and the numbers that they read.

pub(crate) mod encode;
pub(crate) mod table;
