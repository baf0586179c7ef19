//! The time that a GPU takes, and what a program on it sees.
//!
//! [`gpu::Gpu`] is a simulated GPU for a host program; [`gpu::GpuMachine`] says what it is made of. Its pages are those of
//! `pagemill-pages`, its programs those of `pagemill-ptx`.
#![forbid(unsafe_code)]

pub mod gpu;

#[cfg(test)]
extern crate self as pagemill_sim;
#[cfg(test)]
#[path = "../tests/common/gtx480.rs"]
mod gtx480;

pub use gpu::*;
pub use pagemill_pages::{SpecError, Timeline, TimelineEvent, TimelineKind, hints};
