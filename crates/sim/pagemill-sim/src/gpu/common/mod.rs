//! What the rooms of a GPU share: addresses, requests, the link to the host and its accounts.

pub(crate) mod addresses;
pub(crate) mod host_link;
pub(crate) mod ledger;
pub(crate) mod request;
pub(crate) mod stall;
