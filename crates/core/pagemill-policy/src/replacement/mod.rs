//! Which object leaves a cache when another needs its room. One policy = one file + one line in [`REPLACEMENTS`].
//!
//! A cache of *objects* holds any of them, of any size, up to its capacity. A cache with *sets*, as a processor has, holds
//! equal lines, and a line can be in one set only.

mod arc;
mod clock;
mod drrip;
mod fifo;
mod lru;
mod queues;
mod s3_fifo;
mod sets;
mod tree_plru;

use std::fmt;

use pagemill_types::{Registry, named};

/// One reference to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The number of the object: objects are numbered from 0 without large gaps, since caches index by it.
    pub object: u32,
    /// Its size in bytes, the same at every request; at least 1.
    pub bytes: u32,
    /// Its address in lines, which selects its set.
    pub line: u64,
}

/// Outcomes of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Misses {
    /// Requests of objects that were not in the cache.
    pub objects: u64,
    /// The bytes of these objects.
    pub bytes: u64,
}

impl Misses {
    /// Adds a miss of `bytes` bytes.
    #[inline]
    pub fn add(&mut self, bytes: u32) {
        self.objects += 1;
        self.bytes += u64::from(bytes);
    }
}

/// A cache that decides by itself what it keeps.
pub trait Replacement: Send + fmt::Debug {
    /// Whether the object is in the cache. If it is not, it is admitted where it fits.
    fn request(&mut self, request: Request) -> bool;

    /// Bytes of the objects in the cache; never more than its capacity.
    fn bytes(&self) -> u64;

    /// The misses among `requests`, which are made in order.
    fn requests(&mut self, requests: &[Request]) -> Misses {
        let mut misses = Misses::default();
        for request in requests {
            if !self.request(*request) {
                misses.add(request.bytes);
            }
        }
        misses
    }
}

/// The cache that a policy manages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSpec {
    /// Capacity in bytes.
    pub bytes: u64,
    /// Lines of a set; for policies with sets.
    pub ways: u32,
    /// Bytes of a line; for policies with sets.
    pub line_bytes: u32,
}

/// What a policy caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// Objects of any size, anywhere.
    Objects,
    /// Lines of one size, each in its set.
    Lines,
}

/// Why a policy cannot manage a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheSpecError {
    /// The capacity is no whole number of sets, or 0.
    Sets {
        /// Capacity in bytes.
        bytes: u64,
        /// Bytes of a set.
        set_bytes: u64,
    },
    /// The number of ways is not one that the policy has.
    Ways(u32),
}

impl fmt::Display for CacheSpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sets { bytes, set_bytes } => write!(
                f,
                "a cache of {bytes} bytes is not a whole number of sets of {set_bytes} bytes"
            ),
            Self::Ways(ways) => write!(
                f,
                "tree-plru needs a power of two from 1 to 64 as the number of ways, not {ways}"
            ),
        }
    }
}

impl std::error::Error for CacheSpecError {}

type Build = fn(&CacheSpec) -> Result<Box<dyn Replacement>, CacheSpecError>;

/// A policy, and how it is called.
pub struct ReplacementEntry {
    /// What it is asked for by.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// What it caches.
    pub keeps: Keeps,
    /// An empty cache.
    pub build: Build,
}

named!(ReplacementEntry);

/// All policies, the default first.
pub static REPLACEMENTS: Registry<ReplacementEntry> = Registry::new(
    "replacement policy",
    &[
        lru::Lru::ENTRY,
        fifo::Fifo::ENTRY,
        clock::Clock::ENTRY,
        s3_fifo::S3Fifo::ENTRY,
        arc::Arc::ENTRY,
        tree_plru::TreePlru::ENTRY,
        drrip::Drrip::ENTRY,
    ],
);
