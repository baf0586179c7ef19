//! Parts with a clock, and the machines built of them.
#![forbid(unsafe_code)]

pub mod gpu;
pub mod parts;
