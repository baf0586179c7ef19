//! A stream as instructions of the host: paths of lanes, arithmetic, accesses, costs.

pub(crate) mod access;
pub(crate) mod announce;
pub(crate) mod cache;
pub(crate) mod control;
pub(crate) mod convert;
pub(crate) mod emitter;
pub(crate) mod exchange;
pub(crate) mod lanes;
pub(crate) mod local;
pub(crate) mod paths;
pub(crate) mod rounding;
pub(crate) mod rows;
pub(crate) mod scatter;
pub(crate) mod special;
pub(crate) mod vectors;
