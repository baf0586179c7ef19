//! What one lane computes where there is no vector form: bits in, bits out.

pub mod atomic;
pub mod bits;
pub mod convert;
pub mod element;
pub mod float;
pub mod half;
pub mod integer;
pub mod mbarrier;
pub mod narrow_floats;
pub mod rounding;
pub mod scalar;
pub mod video;
