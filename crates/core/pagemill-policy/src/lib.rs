//! Decisions about pages, and nothing else.
//!
//! A policy is a pure function of its arguments: no clock, no input or output, no thread, no hidden
//! randomness (`clippy.toml` beside this crate refuses them). So the same code can decide in a simulator and
//! on a real machine, and a test can visit every state it has.
//!
//! * [`migration`]: which parts of a page move between CPU and GPU memory, and when.
//! * [`residency`]: where data live that do not fit GPU memory: strategies, faults, growth, eviction.
//! * [`paging`]: which parts of a program's memory are in frames, where there are too few for all of it.
//! * [`translation`]: which page-table entries a network interface caches and prefetches.
//! * [`routing`]: which way a message takes through a network of switches.
//! * [`surroundings`]: what lies around a page, for the policies that look there.
//! * [`coloring`]: which part of a shared cache a task may occupy.
//! * [`zeroing`]: when pages are cleared, by whom, and when they may be handed out.
#![forbid(unsafe_code)]

pub mod coloring;
pub mod migration;
pub mod paging;
pub mod residency;
pub mod routing;
pub mod surroundings;
pub mod translation;
pub mod zeroing;

/// The example in the guide for contributors compiles, and keeps the contract.
#[cfg(doctest)]
#[doc = include_str!("../../../../CONTRIBUTING.md")]
struct Contributing;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
