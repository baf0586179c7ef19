//! Where regions of a stream begin, and which registers live in them.

pub(crate) mod liveness;
pub(crate) mod regions;
