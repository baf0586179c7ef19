//! Strong accesses: where threads meet, so that one knows what another did before.

use super::access::{Parts, Step};
use super::cells::SEVERAL;
use pagemill_ptx_ir::address::window::Window;
use pagemill_ptx_ir::line::{Line, lanes_of};

impl Parts<'_> {
    /// A strong access to global memory: what others released there is known, and what was fenced is released.
    pub(super) fn meet_in_global(&mut self, step: &Step<'_>, addresses: &Line<u64>, mask: u32) {
        let releases = step.writes() && (self.block.has_fenced_widely || step.is_release);
        self.checker.releases += u64::from(releases);
        self.checker.looks += u64::from(step.reads());
        if !releases && self.checker.order.is_empty() {
            return;
        }
        let actor = (self.block.index % u64::from(SEVERAL)) as u32;
        for place in places(addresses, mask) {
            if Window::of(place) != Window::Global {
                continue;
            }
            if step.reads() {
                let time = self.checker.time;
                if self.checker.order.acquire(place, actor, time).is_some() {
                    self.checker.tick();
                }
            }
            if releases {
                let time = self.checker.time;
                self.checker.order.release(place, actor, time);
                self.checker.tick();
            }
        }
    }

    /// The same in shared memory, among the warps of a block.
    pub(super) fn meet_in_shared(&mut self, step: &Step<'_>, addresses: &Line<u64>, mask: u32) {
        let block = &mut *self.block;
        let releases = step.writes() && (block.has_fenced || step.is_release);
        if !releases && block.rules.order.is_empty() {
            return;
        }
        for place in places(addresses, mask) {
            let (warp, time) = (block.warp, block.time);
            if step.reads() {
                let found = block.rules.order.acquire(place, warp, time);
                if let Some(own) = found {
                    block.tick();
                    if let Some(own) = own {
                        block.synced(warp, own + 1);
                    }
                }
            }
            if releases {
                let time = block.time;
                block.rules.order.release(place, warp, time);
                block.tick();
            }
        }
    }
}

/// Addresses of the lanes, each once in a row.
fn places(addresses: &Line<u64>, mask: u32) -> Vec<u64> {
    let mut places: Vec<u64> = lanes_of(mask).map(|lane| addresses[lane]).collect();
    places.dedup();
    places
}
