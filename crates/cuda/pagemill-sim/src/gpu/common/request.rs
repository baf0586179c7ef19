//! Memory requests that wait for a translation or for bytes on the link.

use crate::gpu::stream::{AccessKind, AccessSpace, MemoryAccess};
use pagemill_ptx::CacheHint;
use pagemill_types::Picos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a request still has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// It faulted, and begins anew.
    Issued,
    /// Its translation is known: ask for the page's residency.
    Translated,
    /// Its bytes are on the GPU: go to the caches.
    Resident,
    /// Its bytes are used in CPU memory: go over the link.
    InPlace,
}

/// Which loads of global memory L1 keeps, where the program does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum L1Loads {
    /// All.
    #[default]
    All,
    /// Those of data that is read-only for the whole kernel; others go to L2.
    ReadOnly,
}

/// What first-level caches do for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Global memory: loads are kept, stores go through.
    Cached,
    /// Global memory that the program asks not to be kept, or not to be served from an old line.
    PastL1,
    /// A thread's own memory: loads and stores are kept.
    Local,
}

impl Route {
    #[inline]
    pub(crate) fn of(access: &MemoryAccess, l1_loads: L1Loads) -> Self {
        match (access.space, access.cache_hint) {
            (AccessSpace::Local, _) => Self::Local,
            // L1 caches are not coherent: what other SMs may write meanwhile is read from L2.
            (_, CacheHint::GlobalLevel | CacheHint::Volatile) => Self::PastL1,
            (_, CacheHint::ReadOnly) => Self::Cached,
            _ if l1_loads == L1Loads::ReadOnly => Self::PastL1,
            _ => Self::Cached,
        }
    }
}

/// One segment's request that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) segment: u64,
    pub(crate) sm: u32,
    pub(crate) warp: u32,
    pub(crate) kind: AccessKind,
    pub(crate) route: Route,
    pub(crate) slot: u8,
    pub(crate) lanes: u8,
    /// The sectors of its segment that it touches, a bit each.
    pub(crate) sectors: u8,
    pub(crate) stage: Stage,
    /// The instruction of its kernel.
    pub(crate) instruction: u32,
}

/// Waiting requests by the time they go on, equal times in the order they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeferredQueue {
    order: BinaryHeap<Reverse<(Picos, u64, u32)>>,
    requests: Vec<Request>,
    free: Vec<u32>,
    sequence: u64,
}

impl DeferredQueue {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.order.clear();
        self.requests.clear();
        self.free.clear();
    }

    pub(crate) fn push(&mut self, at: Picos, request: Request) {
        let index = match self.free.pop() {
            Some(index) => {
                self.requests[index as usize] = request;
                index
            }
            None => {
                self.requests.push(request);
                (self.requests.len() - 1) as u32
            }
        };
        // The heap holds small keys and requests stay where they are. At one time, the sequence
        // keeps the order in which they came.
        self.order.push(Reverse((at, self.sequence, index)));
        self.sequence += 1;
    }

    /// Time of the earliest request; `Picos(u64::MAX)` if none waits.
    #[inline]
    pub(crate) fn next_at(&self) -> Picos {
        self.order.peek().map_or(Picos(u64::MAX), |first| first.0.0)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(crate) fn pop(&mut self) -> Option<(Picos, Request)> {
        let Reverse((at, _, index)) = self.order.pop()?;
        self.free.push(index);
        Some((at, self.requests[index as usize]))
    }
}
