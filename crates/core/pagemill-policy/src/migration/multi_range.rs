use pagemill_types::{PageRange, RangeSet};

use super::{FullSlotRule, MigrationPolicy, MigrationSpec, PolicyEntry};
use crate::surroundings::Surroundings;

/// Keeps several valid ranges: a gap under the threshold moves too, a wider one starts another range
/// (Zhang et al. 2019, section 4.2). When the range slots are taken, a [`FullSlotRule`] picks a gap to move.
#[derive(Clone, Copy, Debug)]
pub struct MultiRange {
    gap_threshold_bytes: u32,
    range_slots: Option<u32>,
    when_full: FullSlotRule,
}

impl MultiRange {
    /// How scenarios find this policy.
    pub const ENTRY: PolicyEntry = PolicyEntry {
        name: "multi-range",
        summary: "several valid ranges a page; only gaps under a threshold move with a request",
        parameters: &["unit", "gap_threshold", "range_slots", "when_full"],
        build: &|spec| Box::new(Self::new(spec)),
    };

    fn new(spec: &MigrationSpec) -> Self {
        Self {
            gap_threshold_bytes: spec.gap_threshold_bytes,
            range_slots: spec.range_slots,
            when_full: spec.when_full,
        }
    }

    fn is_narrow(&self, gap: PageRange) -> bool {
        // A gap as wide as the threshold starts a range: only shorter ones move (section 4.2).
        gap.bytes() < u64::from(self.gap_threshold_bytes)
    }

    fn exceeds_slots(&self, ranges: usize) -> bool {
        self.range_slots
            .is_some_and(|slots| ranges > slots as usize)
    }

    /// The gap to move when `request`, which touches no valid range, finds every slot taken.
    fn gap_to_close(
        &self,
        valid: &RangeSet,
        request: PageRange,
        around: Gaps,
    ) -> Option<PageRange> {
        let beside = around.below.into_iter().chain(around.above);
        let smallest = |gap: &PageRange| (gap.bytes(), gap.start);
        match self.when_full {
            FullSlotRule::NearestRange => beside.min_by_key(smallest),
            FullSlotRule::SmallestGap => {
                // The gap in which the request lies is gone: what is left of it are the two beside the request.
                let elsewhere = valid.gaps().filter(|gap| !gap.contains(request));
                elsewhere.chain(beside).min_by_key(smallest)
            }
        }
    }
}

impl MigrationPolicy for MultiRange {
    fn plan(
        &self,
        _page_bytes: u32,
        valid: &RangeSet,
        request: PageRange,
        _: &dyn Surroundings,
        fetch: &mut Vec<PageRange>,
    ) {
        let touched = valid.touching(request);
        let around = Gaps::around(valid, request);
        let mut moved = request;
        // The request and all that it touches become one range.
        let mut ranges_after = valid.len() - touched.len() + 1;
        for gap in around.below.into_iter().chain(around.above) {
            if self.is_narrow(gap) {
                moved = join(moved, gap);
                ranges_after -= 1;
            }
        }
        // Counted after the narrow gaps: closing one may have freed the slot. The document says that 4 or 8 slots
        // suffice (section 5.3), and not what a page does that needs one more; both rules are ours.
        let full = self.exceeds_slots(ranges_after);
        let closed = full
            .then(|| self.gap_to_close(valid, request, around))
            .flatten();
        match closed {
            Some(gap) if gap.end < moved.start => {
                fetch.push(gap);
                fetch.extend(valid.missing(moved));
            }
            Some(gap) if moved.end < gap.start => {
                fetch.extend(valid.missing(moved));
                fetch.push(gap);
            }
            Some(gap) => fetch.extend(valid.missing(join(moved, gap))),
            None => fetch.extend(valid.missing(moved)),
        }
    }

    fn range_limit(&self) -> Option<u32> {
        self.range_slots
    }
}

/// The gaps that would remain on either side of a request once it has merged with what it touches.
#[derive(Clone, Copy)]
struct Gaps {
    below: Option<PageRange>,
    above: Option<PageRange>,
}

impl Gaps {
    fn around(valid: &RangeSet, request: PageRange) -> Self {
        let ranges = valid.as_slice();
        let touched = valid.touching(request);
        let merged = ranges[touched.clone()]
            .iter()
            .fold(request, |merged, &r| join(merged, r));
        let before = touched.start.checked_sub(1).map(|index| ranges[index].end);
        let after = ranges.get(touched.end).map(|range| range.start);
        Self {
            below: before.and_then(|end| PageRange::new(end, merged.start)),
            above: after.and_then(|start| PageRange::new(merged.end, start)),
        }
    }
}

/// Smallest range that holds both.
fn join(a: PageRange, b: PageRange) -> PageRange {
    PageRange {
        start: a.start.min(b.start),
        end: a.end.max(b.end),
    }
}
