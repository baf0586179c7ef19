//! Partial pages: the GPU's memory management unit moves valid ranges by itself (Zhang et al. 2019).

use pagemill_policy::migration::{GpuDecision, Migration, MigrationSpec, MigrationSpecError, Page};
use pagemill_policy::residency::{BLOCK_BYTES, BLOCK_PAGES, ChunkList, PAGE_BYTES};
use pagemill_types::{PageRange, Picos};

use super::piece::Piece;
use super::wires::Wires;
use crate::gpu::flights::{Flight, Flights};
use crate::gpu::{TimelineEvent, TimelineKind};

/// Pages of 2 MiB with valid ranges, in as many frames as GPU memory holds. The page whose frame was taken longest
/// ago leaves first.
#[derive(Debug)]
pub(super) struct PartialPages {
    migration: Migration,
    pages: Vec<Page>,
    flights: Vec<Flights>,
    frames: ChunkList,
    frame_limit: u32,
    fetch: Vec<PageRange>,
    pub migrated_bytes: u64,
    pub evicted_bytes: u64,
    pub requests: u64,
}

impl PartialPages {
    pub(super) fn new(
        spec: &MigrationSpec,
        allocation_bytes: u64,
        gpu_bytes: u64,
    ) -> Result<Self, MigrationSpecError> {
        let pages = allocation_bytes.div_ceil(BLOCK_BYTES) as usize;
        Ok(Self {
            migration: spec.build()?,
            pages: vec![Page::new(); pages],
            flights: vec![Flights::default(); pages],
            frames: ChunkList::new(pages as u32),
            frame_limit: (gpu_bytes / BLOCK_BYTES).clamp(1, u64::from(u32::MAX)) as u32,
            fetch: Vec::new(),
            migrated_bytes: 0,
            evicted_bytes: 0,
            requests: 0,
        })
    }

    /// When the bytes of `piece`, asked for at `at`, are in GPU memory.
    #[inline]
    pub(super) fn arrival(&mut self, at: Picos, piece: Piece, wires: &mut Wires) -> Picos {
        let page = (piece.page / BLOCK_PAGES) as usize;
        let start = piece.page % BLOCK_PAGES * PAGE_BYTES as u32 + u32::from(piece.offset);
        let range = PageRange {
            start,
            end: start + u32::from(piece.bytes),
        };
        self.fetch.clear();
        let decision = self.pages[page].gpu_request(&self.migration, range, &mut self.fetch);
        if decision != GpuDecision::Local {
            self.bring(at, page, wires);
        }
        self.flights[page].arrival(at, range)
    }

    fn bring(&mut self, at: Picos, page: usize, wires: &mut Wires) {
        self.requests += 1;
        let mut ready = at;
        if !self.frames.contains(page as u32) {
            if self.frames.len() >= self.frame_limit {
                ready = self.evict_oldest(at, wires);
            }
            self.frames.push(page as u32);
        }
        for &range in &self.fetch {
            self.migrated_bytes += range.bytes();
            // The wire serves in the order of requests; only this page waits for its frame.
            let done = wires.copy_to_gpu(at, range.bytes()).max(ready);
            wires.timeline.record(|| TimelineEvent {
                kind: TimelineKind::Migration {
                    page: page as u64,
                    partition: 0,
                },
                start: at,
                end: done,
                bytes: range.bytes(),
            });
            self.flights[page].insert(at, Flight { range, done });
        }
    }

    /// The page with the oldest frame leaves; answers when its bytes have left.
    fn evict_oldest(&mut self, at: Picos, wires: &mut Wires) -> Picos {
        let Some(oldest) = self.frames.oldest_first().next() else {
            return at;
        };
        let victim = oldest as usize;
        let bytes = self.pages[victim].valid().covered_bytes();
        let left = wires.copy_to_cpu(at.max(self.flights[victim].until()), bytes);
        wires.timeline.record(|| TimelineEvent {
            kind: TimelineKind::Eviction {
                page: u64::from(oldest),
            },
            start: at,
            end: left,
            bytes,
        });
        self.evicted_bytes += bytes;
        self.pages[victim].cpu_request(&self.migration);
        self.flights[victim].clear();
        self.frames.remove(oldest);
        left
    }
}
