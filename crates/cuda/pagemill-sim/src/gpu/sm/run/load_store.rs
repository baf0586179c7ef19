//! Warps at the load-store unit of their SM.

use super::Engine;
use super::units::WARM_SEGMENTS;
use crate::gpu::common::request::{Request, Stage};
use crate::gpu::memory::path::{MemoryPath, Progress};
use crate::gpu::sm::warp::{NO_SLOT, Phase};
use crate::gpu::stream::AccessKind;
use pagemill_types::Picos;

impl Engine {
    /// A warp wants its SM's load-store unit.
    #[inline]
    pub(super) fn access(&mut self, now: Picos, warp: u32, path: &mut MemoryPath) {
        let home = self.homes[warp as usize];
        let state = &mut self.warps[warp as usize];
        // One store that waits for its page is let pass; the next must wait, so that waiting stores stay few.
        if state.access.slot == NO_SLOT && state.store_pending() {
            state.phase = Phase::WaitStores;
            self.heap.pop();
            return;
        }
        state.arrive(now, Phase::Issue);
        let unit = &mut self.load_store[home.sm as usize];
        if unit.reserved {
            // A warp that does not wait for the unit has put its next instruction there while it executed the one before.
            let came = match self.spec.queues_accesses {
                true => now.saturating_since(state.behind),
                false => now,
            };
            unit.wait(came, warp);
            self.heap.pop();
            return;
        }
        unit.reserved = true;
        if unit.free_at > now {
            self.heap.replace_top(unit.free_at, warp);
        } else {
            self.issue(now, warp, path);
        }
    }

    /// A warp has the load-store unit and sends its segments, one after the other.
    pub(super) fn issue(&mut self, now: Picos, warp: u32, path: &mut MemoryPath) {
        let sm = self.homes[warp as usize].sm;
        let state = &mut self.warps[warp as usize];
        path.host_link.ledger.set_origin(state.access.instruction);
        if self.waits.are_counted() {
            self.waits
                .note(warp, state.access.slot, state.access.instruction);
        }
        let mut at = now;
        while let Some(&segment) = state
            .access
            .segments
            .as_slice()
            .get(state.access.next as usize)
        {
            let ahead = state.access.next as usize + WARM_SEGMENTS;
            if let Some(&later) = state.access.segments.as_slice().get(ahead) {
                path.warm(sm, later);
            }
            let request = state.access.request(segment, sm, warp);
            match path.resume(at, &request) {
                Progress::Done(done) => {
                    state.note_ready(request.slot, done);
                    self.last_done = self.last_done.max(done);
                }
                Progress::Later(later, stage) => {
                    if stage == Stage::Translated {
                        path.host_link.ledger.missed_translation();
                    }
                    state.begin_pending(request.slot);
                    self.deferred.push(later, Request { stage, ..request });
                }
                Progress::Waits => state.begin_pending(request.slot),
                Progress::Blocked(free_at, stage) => {
                    state.access.stage = stage;
                    self.heap.replace_top(free_at, warp);
                    return;
                }
            }
            // The unit sends a segment in `segment_busy`; stores and atomics carry data, and wait for the port into the network as well.
            state.access.stage = Stage::Issued;
            state.access.next += 1;
            at +=
                self.segment_busy[usize::from(state.access.is_wide)][usize::from(request.sectors)];
            if request.kind != AccessKind::Load {
                at = at.max(path.inject_free_at(sm));
            }
        }
        state.phase = Phase::Run;
        state.behind += at - state.arrived;
        self.heap.replace_top(at, warp);
        let unit = &mut self.load_store[sm as usize];
        unit.free_at = at;
        match unit.next() {
            Some(next) => self.heap.push(at, next),
            None => unit.reserved = false,
        }
    }
}
