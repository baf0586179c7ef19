//! What is loaded before anything is launched: a PTX text, its kernels, and their names as people write them.

pub(crate) mod kernel;
pub(crate) mod module;
pub(crate) mod names;
