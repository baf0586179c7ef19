//! The kinds of scenario: one module each, which turns a point's sections into a typed specification.

pub mod gpu;

/// `kind = "gpu"`.
pub(crate) const GPU: &str = "gpu";

/// The names of all kinds.
pub(crate) const NAMES: &[&str] = &[GPU];
