//! Execution: warps of 32 lanes, decoded once, stepped until time must decide something.

pub(crate) mod access;
pub(crate) mod announce;
mod atomic;
pub(crate) mod call;
mod cluster;
mod device_runtime;
pub(crate) mod dispatch;
pub(crate) mod due;
pub(crate) mod fragment;
mod local;
pub(crate) mod machine_code;
mod matrix;
pub(crate) mod meeting;
mod meter;
pub(crate) mod path;
pub(crate) mod pattern;
mod printf;
pub(crate) mod run;
pub(crate) mod service;
pub(crate) mod step;
#[cfg(test)]
pub(crate) mod tests;
mod texture;
pub(crate) mod transfer;
pub(crate) mod trap;
pub(crate) mod warp;
pub(crate) mod warp_wide;
pub(crate) mod watch;
pub(crate) mod width;
