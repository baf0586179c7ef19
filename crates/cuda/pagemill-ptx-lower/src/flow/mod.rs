//! The program as micro-operations in basic blocks, and where its values are needed.

pub(crate) mod cfg;
pub(crate) mod dominators;
pub(crate) mod liveness;
pub(crate) mod program;
