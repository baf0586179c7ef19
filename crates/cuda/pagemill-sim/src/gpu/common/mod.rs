//! What the rooms of a GPU share: addresses, requests, and who stands still.

pub(crate) mod addresses;
pub(crate) mod request;
pub(crate) mod stall;
