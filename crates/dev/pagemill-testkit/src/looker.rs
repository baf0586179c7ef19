//! A policy that writes down what it sees around a page.

use std::ops::Range;
use std::sync::Mutex;

use pagemill_policy::migration::MigrationPolicy;
use pagemill_policy::residency::{Growth, GrowthContext, PageMask};
use pagemill_policy::surroundings::Surroundings;
use pagemill_types::{PageRange, RangeSet};

/// What was seen at one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The page that was asked about.
    pub page: u32,
    /// Its allocation.
    pub allocation: Range<u32>,
    /// Bytes of pages 0, 1, 2 and 1000 that are on the GPU.
    pub valid_bytes: [u64; 4],
    /// Frames, and those that are free.
    pub frames: (Option<u64>, Option<u64>),
    /// Faults before: of all pages, of this one, and the newest in order.
    pub faults: (u64, u32, Vec<u32>),
}

impl Seen {
    fn of(around: &dyn Surroundings) -> Self {
        let faults = around.faults();
        Self {
            page: around.page(),
            allocation: around.allocation(),
            valid_bytes: [0, 1, 2, 1000].map(|page| around.valid_bytes(page)),
            frames: (around.frames(), around.free_frames()),
            faults: (
                faults.total(),
                faults.of(around.page()).count,
                faults.recent().collect(),
            ),
        }
    }
}

/// Moves what is asked for, and writes down what it sees.
#[derive(Debug)]
pub struct Looker(pub &'static Mutex<Vec<Seen>>);

impl Looker {
    fn look(&self, around: &dyn Surroundings) {
        let mut seen = self.0.lock().expect("a look does not panic");
        seen.push(Seen::of(around));
    }
}

impl Growth for Looker {
    fn grow(&self, context: &GrowthContext<'_>) -> PageMask {
        self.look(context.around);
        context.faulted
    }

    fn tracks_faults(&self) -> bool {
        true
    }
}

impl MigrationPolicy for Looker {
    fn plan(
        &self,
        _: u32,
        valid: &RangeSet,
        request: PageRange,
        around: &dyn Surroundings,
        fetch: &mut Vec<PageRange>,
    ) {
        self.look(around);
        fetch.extend(valid.missing(request));
    }

    fn tracks_faults(&self) -> bool {
        true
    }
}
