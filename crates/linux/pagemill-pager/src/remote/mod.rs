//! Units kept by another process or machine: a [`Server`] and the store [`Remote`] that is its client.

mod auth;
mod client;
mod host;
mod protocol;
mod server;
mod sessions;
mod stream;
mod twins;

pub use auth::{Token, TokenError};
pub use client::{Remote, RemoteError, read_metrics};
pub use server::{Server, ServerConfig, ServerError, converse};
pub use stream::{Address, AddressError};
