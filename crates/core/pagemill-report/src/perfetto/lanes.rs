//! Gives overlapping spans a lane each, because a track of the trace nests its spans like calls.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crate::timeline::Span;

/// Puts `spans` into drawing order: outer before inner, earlier before later.
pub(super) fn sort(spans: &mut [Span]) {
    spans.sort_by_key(|span| (span.start_ps, Reverse(span.end_ps)));
}

/// More lanes than this cannot be read.
pub(super) const LANES_MAX: usize = 16;

/// The lane of each of the sorted `spans` where no two spans of a lane overlap; none where all lanes are taken.
pub(super) fn disjoint(spans: &[Span]) -> Vec<Option<usize>> {
    let mut busy: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut free: BTreeSet<usize> = BTreeSet::new();
    let mut lane_count = 0;
    let mut lanes = Vec::with_capacity(spans.len());
    for span in spans {
        while let Some(Reverse((_, lane))) = busy
            .peek()
            .copied()
            .filter(|Reverse((end, _))| *end <= span.start_ps)
        {
            busy.pop();
            free.insert(lane);
        }
        let lane = free.pop_first().or_else(|| {
            lane_count += 1;
            (lane_count <= LANES_MAX).then_some(lane_count - 1)
        });
        busy.extend(lane.map(|lane| Reverse((span.end_ps, lane))));
        lanes.push(lane);
    }
    lanes
}

/// The lane of each of the sorted `spans` where two spans of a lane are apart or one holds the other.
/// One lane is enough for spans that nest like calls.
pub(super) fn nested(spans: &[Span]) -> Vec<Option<usize>> {
    // The ends of the spans that are open in each lane, innermost last.
    let mut open: Vec<Vec<u64>> = Vec::new();
    let mut lanes = Vec::with_capacity(spans.len());
    for span in spans {
        let fitting = open.iter_mut().position(|ends| {
            while ends.last().is_some_and(|end| *end <= span.start_ps) {
                ends.pop();
            }
            ends.last().is_none_or(|end| span.end_ps <= *end)
        });
        let lane = fitting.unwrap_or(open.len());
        if lane == open.len() {
            open.push(Vec::new());
        }
        open[lane].push(span.end_ps);
        lanes.push(Some(lane));
    }
    lanes
}
