//! What changes the program between decoding and the allocation of registers.

pub(crate) mod issue_order;
pub(crate) mod scoreboard;
pub(crate) mod simplify;
