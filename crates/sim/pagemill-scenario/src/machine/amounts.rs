//! Amounts that fit 32 bits.

use crate::document::Node;
use crate::quantity::{self, Wrong};

pub(super) fn number(node: &Node) -> Result<u32, Wrong> {
    small(quantity::any_count(node)?)
}

pub(super) fn bytes(node: &Node) -> Result<u32, Wrong> {
    small(quantity::bytes(node)?)
}

pub(super) fn cycles(node: &Node) -> Result<u32, Wrong> {
    small(quantity::cycles(node)?)
}

fn small(amount: u64) -> Result<u32, Wrong> {
    u32::try_from(amount).map_err(|_| Wrong::new(format!("it has to be at most {}", u32::MAX)))
}
