//! Timed parts: each is a specification, a state, and a method that is asked at a time and answers when it is done.
//!
//! A part books its own resources and calls nobody back. Askers come in (nearly) non-decreasing time, but for `calendar`; a part
//! never gives an answer earlier than the time it was asked at.

pub mod cache;
pub mod calendar;
pub mod dram;
pub mod entry_pool;
pub(crate) mod event_heap;
pub(crate) mod flights;
pub mod link;
pub mod page_walk;
pub mod ports;
pub mod random;
pub(crate) mod serial;
pub mod throughput;
pub mod tlb;
