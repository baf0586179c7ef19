//! Text to tokens, the token at hand, and what is wrong with it.

pub(crate) mod error;
pub(crate) mod lexer;
pub(crate) mod number;
pub(crate) mod parser;
pub(crate) mod suggest;
pub(crate) mod token;
