//! The arenas of a warp's register file.

/// Which arena an operand index refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Bank {
    Narrow,
    Wide,
    Predicate,
    None,
}
