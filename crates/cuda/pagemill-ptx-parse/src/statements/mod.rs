//! What stands between the braces of a function, and which name means what there.

pub(crate) mod body;
pub(crate) mod operand;
pub(crate) mod scope;
pub(crate) mod special;
