//! Generic addresses: which memory they name, and what is where in it.

pub mod cluster;
pub mod reserved_shared;
pub mod window;
