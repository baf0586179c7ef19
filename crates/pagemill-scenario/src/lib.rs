//! Scenario and machine files to typed, checked specifications.
//!
//! [`load`] reads a scenario, its machine and the overrides of a command line, expands the sweep, and
//! finds everything that can be wrong with them before anything runs.
#![forbid(unsafe_code)]

pub mod document;
mod error;
mod names;
pub mod quantity;

pub use error::{InputErrors, Problem};
