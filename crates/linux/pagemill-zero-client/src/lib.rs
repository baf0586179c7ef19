//! Borrows clean huge pages from the pool.
//!
//! ```no_run
//! use pagemill_zero_client::{Client, Exhausted, Request};
//!
//! let mut client = Client::connect(&pagemill_zero_client::socket_path())?;
//! let lease = client.lease(&Request::bytes(64 << 20).when_exhausted(Exhausted::Fail))?;
//! let mut memory = lease.map(true)?;        // 64 MiB of zeroes, already there
//! memory.bytes_mut()[0] = 1;
//! drop(memory);
//! client.give_back(lease)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod client;
mod lease;
pub mod protocol;

use std::path::PathBuf;

pub use client::{Client, ClientError};
pub use lease::{Exhausted, Lease, LentFile, Request};

/// Names the pool's socket.
pub const SOCKET_VARIABLE: &str = "PAGEMILL_ZERO_SOCKET";

/// Where the pool listens unless told otherwise.
pub const DEFAULT_SOCKET: &str = "/run/pagemill/zero.sock";

/// The pool's socket as `PAGEMILL_ZERO_SOCKET` has it, else the usual one.
pub fn socket_path() -> PathBuf {
    std::env::var_os(SOCKET_VARIABLE).map_or_else(|| PathBuf::from(DEFAULT_SOCKET), PathBuf::from)
}
