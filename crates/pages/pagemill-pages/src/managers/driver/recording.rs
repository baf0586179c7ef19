//! The driver's events for page maps: a page of the map is a block of 2 MiB.

use std::ops::Range;

use pagemill_policy::residency::{BLOCK_BYTES, Effects, PAGE_BYTES, PageMask};
use pagemill_types::{PageRange, Picos};

use crate::managers::events;
use crate::timeline::{PageChange, Timeline};

/// Where and when the driver changes a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// The block's number in the address space.
    pub(super) page: u64,
    pub(super) start: Picos,
    pub(super) done: Picos,
    /// The batch of faults, from 1.
    pub(super) batch: u64,
}

/// The number in the address space of `block`, where the first block is at address `base`.
pub(super) fn page_number(base: u64, block: u32) -> u64 {
    base / BLOCK_BYTES + u64::from(block)
}

/// The `pages` of a block change: an event for each stretch of neighbors.
pub(super) fn changed(timeline: &mut Timeline, cause: u8, pages: &PageMask, when: Moment) {
    if timeline.pages().is_none() {
        return;
    }
    for stretch in pages.stretches() {
        timeline.page(PageChange {
            cause,
            page: when.page,
            range: bytes_of(stretch),
            start: when.start,
            done: when.done,
            place: u32::try_from(when.batch).unwrap_or(u32::MAX),
        });
    }
}

fn bytes_of(stretch: Range<u32>) -> PageRange {
    PageRange {
        start: stretch.start * PAGE_BYTES as u32,
        end: stretch.end * PAGE_BYTES as u32,
    }
}

/// What was decided for a block and costs no copy.
pub(super) fn decided(timeline: &mut Timeline, effects: &Effects, when: Moment) {
    if timeline.pages().is_none() {
        return;
    }
    let at_once = Moment {
        done: when.start,
        ..when
    };
    let in_place = effects.mapped.without(&effects.pinned);
    for (cause, pages, when) in [
        (events::FREED, &effects.discarded, at_once),
        (events::COPY_VOID, &effects.collapsed, at_once),
        (events::PINNED, &effects.pinned, at_once),
        (events::IN_PLACE, &in_place, at_once),
        (events::THROTTLED, &effects.throttled, at_once),
        (events::FIRST_TOUCH, &effects.populated, when),
    ] {
        changed(timeline, cause, pages, when);
    }
}

/// What was copied to a block because of `cause`. Of what a fault brought, all but the `faulted` pages moved along. `departed` were there
/// before.
pub(super) fn arrived(
    timeline: &mut Timeline,
    effects: &Effects,
    (cause, faulted): (u8, &PageMask),
    departed: Option<&PageMask>,
    when: Moment,
) {
    if timeline.pages().is_none() {
        return;
    }
    // What was allocated at its first touch is among what was fetched, and has an event of its own (`decided`).
    let moved = effects.fetched.without(&effects.populated);
    let (needed, along) = match cause {
        events::FAULT => (moved.and(faulted), moved.without(faulted)),
        _ => (moved, PageMask::EMPTY),
    };
    changed(timeline, cause, &needed, when);
    changed(timeline, events::GROWTH, &along, when);
    for stretch in departed
        .map_or(PageMask::EMPTY, |left| moved.and(left))
        .stretches()
    {
        timeline.moved_again(when.page, bytes_of(stretch), when.done);
    }
    let there = Moment {
        start: when.done,
        ..when
    };
    changed(timeline, events::DUPLICATED, &effects.kept, there);
}
