//! The way of a request: translation, caches, memory partitions, the link to the CPU.

pub(crate) mod l2;
pub(crate) mod partition;
pub(crate) mod partition_slice;
pub(crate) mod path;
pub(crate) mod retries;
pub(crate) mod touched;
pub(crate) mod translator;
