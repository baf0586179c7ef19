//! The simulator in a browser.
//!
//! The crate is compiled for `wasm32-unknown-unknown`; `page/` holds the page around it. [`answer`] runs a scenario as
//! `pagemill run` does, and gives the same results. [`catalog`] lists what a scenario can name. The border to the browser is a
//! plain C ABI: text in, text out.

mod answer;
mod catalog;
#[cfg(target_family = "wasm")]
mod ffi;

pub use answer::{TellShare, answer};
pub use catalog::catalog;
