//! Memory with one address on both sides: bytes mapped twice, and pages that notice when the CPU touches them; and memory that
//! processes share.

mod bitmap;
mod faults;
mod shared;
mod signals;
mod views;
mod watch;

pub(crate) use faults::{
    Closed, Touched, any_touched, close, expect_touches, open, take_places, take_touched,
};
pub(crate) use shared::{Origin, SharedMemory};
pub(crate) use views::Views;
pub(crate) use watch::refuse_signals;

/// Where the simulator places managed memory; the CPU sees it there too.
const BASE: u64 = 1 << 40;

/// Granules never get smaller than the CPU's pages.
pub(crate) const GRANULE_BYTES_MIN: u64 = 4096;
