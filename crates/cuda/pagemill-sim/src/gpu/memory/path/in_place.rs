//! CPU memory that the GPU uses where it is, over the link.

use super::{MemoryPath, Progress};
use crate::gpu::SECTOR_SHIFT;
use crate::gpu::common::request::{Request, Route, Stage};
use crate::gpu::stream::AccessKind;
use pagemill_pages::parts::cache::Lookup;
use pagemill_pages::parts::link::Direction;
use pagemill_types::Picos;

impl MemoryPath {
    /// A request for CPU memory that the GPU uses in place: L1 keeps its lines for the kernel, nothing else does.
    #[cold]
    pub(super) fn over_the_link(&mut self, at: Picos, request: &Request) -> Progress {
        let (requests, bytes) = reads(request.sectors);
        let sm = &mut self.sms[request.sm as usize];
        match request.kind {
            AccessKind::Load if request.route == Route::PastL1 => {
                Progress::Done(self.host_link.link.read(at, requests, bytes))
            }
            AccessKind::Load => match sm.l1.load_sectors(at, request.segment, request.sectors) {
                Lookup::Hit(data_at) => Progress::Done(data_at.max(at + self.l1_hit)),
                Lookup::Blocked(free_at) => Progress::Blocked(free_at, Stage::InPlace),
                Lookup::Miss(miss) => {
                    let (requests, bytes) = reads(miss.sectors);
                    let done = self.host_link.link.read(at, requests, bytes);
                    self.sms[request.sm as usize].l1.fill(miss, done);
                    self.write_local_back(at, request.sm, miss.writeback);
                    Progress::Done(done)
                }
            },
            AccessKind::Store => {
                sm.l1.store_through(request.segment);
                Progress::Done(
                    self.host_link
                        .link
                        .transfer(at, Direction::ToCpu, bytes)
                        .done,
                )
            }
            AccessKind::Atomic | AccessKind::Reduction => {
                // The link has no atomics here: the line is read, and written back changed.
                sm.l1.invalidate(request.segment);
                let read = self.host_link.link.read(at, requests, bytes);
                Progress::Done(
                    self.host_link
                        .link
                        .transfer(read, Direction::ToCpu, bytes)
                        .done,
                )
            }
        }
    }
}

/// How many reads bring `sectors` of a segment over the link, and how many bytes: a read for those in a row.
pub(super) fn reads(sectors: u8) -> (u64, u64) {
    let first_of_row = sectors & !(sectors << 1);
    let bytes = u64::from(sectors.count_ones()) << SECTOR_SHIFT;
    (u64::from(first_of_row.count_ones()), bytes)
}

#[cfg(test)]
mod tests {
    use super::reads;

    #[test]
    fn sectors_in_a_row_are_one_read() {
        assert_eq!(reads(0b1111), (1, 128));
        assert_eq!(reads(0b0001), (1, 32));
        assert_eq!(reads(0b1110), (1, 96));
        assert_eq!(reads(0b1011), (2, 96));
        assert_eq!(reads(0), (0, 0));
    }
}
