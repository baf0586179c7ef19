//! Borrows clean huge pages from the pool.
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

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
