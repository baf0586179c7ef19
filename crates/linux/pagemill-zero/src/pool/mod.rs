//! The pool: files of huge pages, cleared ahead of requests, lent over a Unix socket.
//!
//! One thread talks to clients and keeps the inventory ([`pagemill_policy::zeroing::Ledger`]); another clears. See
//! `docs/zeroing.md` for what is promised to whom.

mod cleaner;
mod config;
mod file;
mod inventory;
mod metrics;
mod programs;
mod server;
mod session;
mod shelf;

pub use config::{Config, ConfigError, Quota, Recycle, ShelfSpec};
pub use pagemill_linux::stop::Stopper;
pub use server::{Pool, PoolError};
