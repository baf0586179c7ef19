//! Which further blocks come once a fault was served: one file for each policy.

mod next_blocks;
mod none;

use std::fmt;

use pagemill_types::{Registry, named};

use crate::surroundings::Surroundings;

/// Decides which blocks come whole after a served one, without a fault of their own.
pub trait Ahead: Send + Sync + fmt::Debug {
    /// Appends blocks of the allocation of `around`'s block, whose faults were served, that hold no GPU memory.
    fn blocks(&self, around: &dyn Surroundings, ahead: &mut Vec<u32>);

    /// Whether [`Surroundings::faults`] is to be kept for this policy.
    fn tracks_faults(&self) -> bool {
        false
    }
}

/// Every policy, in the order of listings. A new policy is one file and one line here.
#[rustfmt::skip]
pub static AHEADS: Registry<AheadEntry> = Registry::new("prefetch policy", &[
    none::ENTRY,
    next_blocks::NextBlocks::ENTRY,
]);

/// Makes a policy, or none where nothing is prefetched.
pub type BuildAhead = dyn Fn() -> Option<Box<dyn Ahead>> + Send + Sync;

/// A policy by name.
#[derive(Clone, Copy)]
pub struct AheadEntry {
    /// The name that machine and scenario files use.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Makes the policy; `None` if it never prefetches.
    pub build: &'static BuildAhead,
}

named!(AheadEntry);
