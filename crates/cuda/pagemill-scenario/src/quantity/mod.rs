//! Values with a dimension: exact, and never without a unit.

mod dimension;
mod read;

pub use dimension::{Dimension, Quantity, QuantityError, parse_any};
pub(crate) use read::show_bytes;
pub use read::{
    Wrong, any_count, bandwidth, boolean, bytes, choice, count, counts, cycles, frequency, one_of,
    page_size, probability, registered, text, time,
};
