//! Loads of GPU memory, through L1 or past it.

use super::{MemoryPath, Progress, in_place};
use crate::gpu::common::request::{Request, Stage};
use crate::gpu::memory::partition::PartitionPlace;
use pagemill_pages::parts::cache::Lookup;
use pagemill_types::Picos;

impl MemoryPath {
    #[inline]
    pub(super) fn load(&mut self, at: Picos, request: &Request, place: PartitionPlace) -> Progress {
        let sm = &mut self.sms[request.sm as usize];
        let looked_up = match self.sector_loads {
            true => sm.l1.load_parts(at, request.segment, request.sectors),
            false => sm.l1.load(at, request.segment),
        };
        match looked_up {
            Lookup::Hit(data_at) => Progress::Done(data_at.max(at + self.l1_hit)),
            Lookup::Blocked(free_at) => Progress::Blocked(free_at, Stage::Resident),
            Lookup::Miss(miss) => {
                // The line is taken at once and filled at `done`: loads of it meanwhile hit, and get their data then.
                let done = self.brought(at, request.sm, place, miss.sectors);
                self.sms[request.sm as usize].l1.fill(miss, done);
                self.write_local_back(at, request.sm, miss.writeback);
                Progress::Done(done)
            }
        }
    }

    /// A load that is not to be kept in L1, or finds no room there and cannot wait for it.
    pub(crate) fn load_past_l1(&mut self, at: Picos, request: &Request, stage: Stage) -> Picos {
        if stage == Stage::InPlace {
            let (requests, bytes) = in_place::reads(request.sectors);
            return self.host_link.link.read(at, requests, bytes);
        }
        let place = self.l2.place(request.segment);
        self.brought(at, request.sm, place, request.sectors)
    }

    /// When sectors of a line are at SM `sm`, asked for at `at`.
    #[inline]
    fn brought(&mut self, at: Picos, sm: u32, place: PartitionPlace, sectors: u8) -> Picos {
        // Answers come back at the port's rate. Booked in the order of requests, so that a slow one does not hold up the
        // fast ones behind it.
        let busy = self.return_busy[usize::from(sectors)];
        let queued = self.sms[sm as usize].eject.book(at, busy) - at;
        self.l2.load(at + self.crossing, sm, place, sectors) + self.crossing + queued
    }
}
