//! What one lane computes where there is no vector form: bits in, bits out.

pub(crate) mod atomic;
pub(crate) mod bits;
pub(crate) mod convert;
pub(crate) mod float;
pub(crate) mod half;
pub(crate) mod integer;
pub(crate) mod mbarrier;
pub(crate) mod narrow_floats;
pub(crate) mod rounding;
pub(crate) mod video;
