//! Code that is ready, what it works on, and the call into it.

pub(crate) mod compiled;
pub(crate) mod context;
pub(crate) mod purpose;
pub(crate) mod routine;
