//! Memory of programs beyond the frames they have.
//!
//! A [`Pager`] gives out memory whose bytes are in frames only as far as its budget goes; the rest is in a [`store::Store`]. A touch of
//! what has no frame is a fault, which threads of the pager answer through `pagemill_linux::userfault`. What moves then is decided by
//! [`pagemill_policy::paging`], the same objects as in the simulation.
#![forbid(unsafe_code)]

mod beside;
mod config;
mod core;
mod counters;
mod file;
mod gate;
mod handlers;
mod in_thread;
mod pager;
pub mod probe;
mod record;
mod recorder;
mod regions;
pub mod remote;
mod running;
mod setup;
mod shard;
mod starter;
pub mod store;
mod worker;
mod write_back;

pub use config::{Config, ConfigError, WhenStoreFails};
pub use core::PagerError;
pub use counters::{COUNTERS, Count, Counters};
pub use file::{FileError, FileMode};
pub use pager::{Allocation, Pager};
pub use running::{Announcement, Running, running};
pub use setup::{Place, SETUP_VARIABLE, Setup, SetupError};

/// Bytes of a unit, the least that moves.
pub const UNIT_BYTES: usize = pagemill_policy::paging::UNIT_BYTES as usize;

/// Bytes of a block, where memory starts and within which read-ahead stays.
pub(crate) const BLOCK_BYTES: u64 = pagemill_policy::residency::BLOCK_BYTES;
