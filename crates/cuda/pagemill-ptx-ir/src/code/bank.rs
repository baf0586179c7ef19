//! The arenas of a warp's register file.

/// Which arena an operand index refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bank {
    Narrow,
    Wide,
    Predicate,
    None,
}

/// Where an address comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AddressOperand {
    Narrow(u16),
    Wide(u16),
}
