//! What a runtime asks outside of kernels: prefetches, room for other memory, frees.

use super::{Flight, Ranges};
use crate::managers::MergeScope;
use crate::managers::events;
use crate::managers::host_link::HostLink;
use crate::parts::link::Direction;
use crate::timeline::{PageChange, TimelineEvent, TimelineKind};
use pagemill_policy::migration::{GpuDecision, Page, PageState};
use pagemill_types::{PageRange, Picos};

impl Ranges {
    /// Moves every byte from `address` to the GPU, a transfer for each range that is missing. No request waits for it
    /// yet, so it takes no migration-buffer entry. Returns when the last byte is there.
    pub fn prefetch(
        &mut self,
        at: Picos,
        address: u64,
        bytes: u64,
        host_link: &mut HostLink,
    ) -> Picos {
        let page_bytes = 1u64 << self.page_shift;
        let end = address + bytes;
        let mut from = address;
        let mut all_done = at;
        while from < end {
            let index = ((from >> self.page_shift) - self.first_page) as usize;
            let page_start = from & !(page_bytes - 1);
            let page_end = page_start + page_bytes;
            let range = PageRange {
                start: (from - page_start) as u32,
                end: (end.min(page_end) - page_start) as u32,
            };
            let missing = self.decide(index, range);
            if missing != GpuDecision::Local {
                self.make_room(at, index, host_link);
                all_done = all_done.max(self.populate(at, index, host_link));
                let overhead = self.spec.fault_overhead;
                // The page may have a frame that another one still leaves.
                let ready = at.max(self.frame_free_at(index)) + overhead;
                for place in 0..self.planned.len() {
                    let range = self.planned[place];
                    let start = at + overhead;
                    let transfer =
                        host_link
                            .link
                            .transfer_from(start, ready, Direction::ToGpu, range.bytes());
                    let done = transfer.done;
                    let is_moved = true;
                    let flight = Flight {
                        range,
                        done,
                        is_moved,
                    };
                    self.flights[index].insert(at, flight);
                    self.counts.migrations += 1;
                    self.counts.migrated_bytes += range.bytes();
                    host_link
                        .ledger
                        .book(self.addresses(index).start, |traffic| {
                            traffic.migrated_bytes += range.bytes();
                        });
                    all_done = all_done.max(done);
                    host_link.timeline.page(PageChange {
                        cause: events::PREFETCH,
                        page: self.first_page + index as u64,
                        range,
                        start,
                        done,
                        place: 0,
                    });
                }
            }
            from = page_end;
        }
        host_link.timeline.record(|| TimelineEvent {
            kind: TimelineKind::CopyToGpu,
            start: at,
            end: all_done,
            bytes,
        });
        all_done
    }

    /// GPU memory for pages that migrate is `bytes` from now on, at least a page; the oldest pages leave if they are more.
    pub fn limit_frames(&mut self, at: Picos, bytes: u64, host_link: &mut HostLink) {
        let frames = bytes >> self.page_shift;
        while let Some(victim) = self.frames.as_mut().and_then(|held| held.shrink(frames)) {
            self.move_out(at, victim, host_link);
            self.move_out_along(at, host_link);
        }
    }

    /// The pages that hold the bytes from `address` are empty and in CPU memory again; nothing moves.
    pub fn forget(&mut self, at: Picos, address: u64, bytes: u64, host_link: &mut HostLink) {
        self.allocations.remove(self.pages_of(address, bytes));
        let page_of = |address: u64| ((address >> self.page_shift) - self.first_page) as usize;
        for index in page_of(address)..=page_of(address + bytes - 1) {
            let leaving = self.leaving(index, host_link);
            self.record_departure(index, (leaving, events::FREED), (at, at), host_link);
            self.pages[index] = Page::new();
            self.is_whole[index] = false;
            self.forget_flights(index);
            self.untouched.forget(index);
            self.moves.left(self.addresses(index));
            if let Some(frames) = &mut self.frames {
                frames.release(index);
            }
        }
    }

    /// Whether the `bytes` from `offset` of managed memory, all of one page, are in GPU memory, or on their way there.
    pub fn is_valid(&self, offset: u64, bytes: u64) -> bool {
        let index = (offset >> self.page_shift) as usize;
        if self.is_whole[index] {
            return true;
        }
        let start = (offset & ((1 << self.page_shift) - 1)) as u32;
        let range = PageRange {
            start,
            end: start + bytes as u32,
        };
        let page = &self.pages[index];
        page.state() == PageState::ValidInGpu || page.valid().contains(range)
    }

    /// Whether the bytes that move do not depend on the order of requests.
    pub fn is_order_free(&self) -> bool {
        self.migration.is_order_free()
            && self.spec.merge == MergeScope::Gpu
            && self.arrivals.is_none()
    }

    /// Whether any byte of the page at `address` is in GPU memory.
    pub fn is_on_gpu(&self, address: u64) -> bool {
        // An address below all managed memory wraps to an index that no page has.
        let index = (address >> self.page_shift).wrapping_sub(self.first_page) as usize;
        self.pages
            .get(index)
            .is_some_and(|page| page.state() != PageState::ValidInCpu)
    }
}
