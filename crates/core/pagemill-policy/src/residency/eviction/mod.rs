//! Which block leaves when GPU memory is full: one file for each policy.

mod allocation_order;
mod least_recently_used;
mod migration_order;
mod newest_first;
mod spare_returning;
mod tree_pre_eviction;

use std::fmt;

use pagemill_types::{Registry, named};

use super::ChunkList;
pub use least_recently_used::LeastRecentlyUsed;

/// Decides which root chunk is taken away.
pub trait Eviction: Send + Sync + fmt::Debug {
    /// A block of `chunks` other than `keep`. `chunks` is in the order in which the chunks were last allocated, or
    /// as [`Eviction::brought`] left it, and holds at least one other block.
    fn victim(&self, chunks: &ChunkList, keep: u32) -> Option<u32>;

    /// Appends further blocks of `chunks`, other than `keep` and `victim`, that leave with `victim` though their room is not needed yet.
    /// Asked before `victim` gives its chunk back. A pager of programs does not ask.
    fn along(&self, chunks: &ChunkList, victim: u32, keep: u32, more: &mut Vec<u32>) {
        let _ = (chunks, victim, keep, more);
    }

    /// `block` gets a chunk, for the first time or once more. A pager of programs does not say so.
    fn came(&mut self, block: u32) {
        let _ = block;
    }

    /// `block` gave its chunk back, because it was evicted or for another reason. A pager of programs does not say so.
    fn left(&mut self, block: u32) {
        let _ = block;
    }

    /// Pages came to `block`, which had its chunk already.
    fn brought(&mut self, chunks: &mut ChunkList, block: u32) {
        let _ = (chunks, block);
    }

    /// Whether [`Eviction::used`] is to be called for every access.
    fn tracks_use(&self) -> bool {
        false
    }

    /// `block`, which has a chunk, was accessed.
    fn used(&mut self, chunks: &mut ChunkList, block: u32) {
        let _ = (chunks, block);
    }
}

/// Every eviction policy, in the order of listings. A new policy is one file and one line here.
#[rustfmt::skip]
pub static EVICTIONS: Registry<EvictionEntry> = Registry::new("eviction policy", &[
    migration_order::MigrationOrder::ENTRY,
    allocation_order::AllocationOrder::ENTRY,
    newest_first::NewestFirst::ENTRY,
    least_recently_used::LeastRecentlyUsed::ENTRY,
    tree_pre_eviction::TreePreEviction::ENTRY,
    spare_returning::SpareReturning::ENTRY,
]);

/// Makes a policy with nothing in memory.
pub type BuildEviction = dyn Fn() -> Box<dyn Eviction> + Send + Sync;

/// An eviction policy by name.
#[derive(Clone, Copy)]
pub struct EvictionEntry {
    /// The name that machine and scenario files use.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Makes the policy.
    pub build: &'static BuildEviction,
}

named!(EvictionEntry);
