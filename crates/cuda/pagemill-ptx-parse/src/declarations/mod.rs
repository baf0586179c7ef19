//! What a text declares: variables with their initial values, functions, and the module of them.

pub(crate) mod expression;
pub(crate) mod function;
pub(crate) mod module;
pub(crate) mod variable;
