//! Calls: the functions that take their place in the text, and those that stay functions.

pub(crate) mod inline;
pub(crate) mod params;
pub(crate) mod signature;
pub(crate) mod subroutine;
