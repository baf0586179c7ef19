//! Timed parts: each is a specification, a state, and a method that is asked at a time and answers when it is done.
//!
//! A part books its own resources and makes no callbacks. Askers come in (nearly) non-decreasing time, but for `calendar`; a part
//! never gives an answer earlier than the time it was asked at.

pub mod cache;
pub mod calendar;
pub mod dram;
pub mod entry_pool;
pub mod event_heap;
pub mod in_flight;
pub mod link;
pub mod page_walk;
pub mod ports;
pub mod random;
pub mod throughput;
pub mod tlb;
pub mod translation;
