//! Events of a replay for page maps: which units are in frames, why they arrived, and whether they had changed when they left.

use pagemill_map::{Cause, Change, Effect, Legend, Limits, Recorder};
use pagemill_policy::paging::{TraceEvent, UNIT_BYTES};
use pagemill_policy::residency::PageMask;
use pagemill_types::Picos;

/// A read needed the units.
pub(super) const READ: u8 = 0;
/// A write needed them.
pub(super) const WRITE: u8 = 1;
/// They moved along with what was needed.
pub(super) const ALONG: u8 = 2;
/// They were made of zeros: the store does not have them.
pub(super) const ZEROS: u8 = 3;
/// They left, and were written to the store.
pub(super) const WRITTEN: u8 = 4;
/// They left as they had come: nothing was written.
pub(super) const CLEAN: u8 = 5;
/// The program gave them up.
pub(super) const GIVEN_UP: u8 = 6;
/// The program changed them.
pub(super) const CHANGED: u8 = 7;

fn legend() -> Legend {
    Legend {
        absent: "in no frame".to_owned(),
        partial: "partly in frames".to_owned(),
        present: "in frames".to_owned(),
        departed: "back in the store".to_owned(),
        marked: "changed since it came".to_owned(),
        place: String::new(),
        causes: vec![
            Cause::new("read fault", Effect::Arrive),
            Cause::new("write fault", Effect::Arrive),
            Cause::new("moved along", Effect::Arrive),
            Cause::new("zeros", Effect::Arrive),
            Cause::new("eviction, written", Effect::Leave),
            Cause::new("eviction, unchanged", Effect::Leave),
            Cause::new("given up", Effect::Leave),
            Cause {
                state: Some("changed since it came".to_owned()),
                ..Cause::new("changed", Effect::Mark)
            },
        ],
    }
}

/// The page map of a replay.
#[derive(Debug)]
pub(super) struct Recording {
    recorder: Recorder,
    /// What the fault at hand moves, until its times are known.
    pub(super) came: Vec<(u8, u32, PageMask)>,
    pub(super) left: Vec<(u8, u32, PageMask)>,
}

impl Recording {
    /// Of the memory that `events` speak of, in pages of `page_bytes`.
    pub(super) fn new(events: &[TraceEvent], page_bytes: u64) -> Self {
        let mut recorder = Recorder::new(page_bytes, legend(), Limits::default());
        for (number, (first, units)) in areas(events).into_iter().enumerate() {
            let bytes = u64::from(UNIT_BYTES);
            let name = format!("memory #{}", number + 1);
            recorder.allocated(&name, first * bytes, units * bytes);
        }
        Self {
            recorder,
            came: Vec::new(),
            left: Vec::new(),
        }
    }

    /// What the fault at hand moved has arrived and left.
    pub(super) fn moved(&mut self, came: (Picos, Picos), left: (Picos, Picos)) {
        for (cause, page, units) in std::mem::take(&mut self.left) {
            self.changed(cause, page, units, left);
        }
        for (cause, page, units) in std::mem::take(&mut self.came) {
            self.changed(cause, page, units, came);
        }
    }

    /// Units of a page change.
    pub(super) fn changed(
        &mut self,
        cause: u8,
        page: u32,
        units: PageMask,
        (start, done): (Picos, Picos),
    ) {
        for stretch in units.stretches() {
            self.recorder.changed(&Change {
                cause,
                page: u64::from(page),
                range: stretch.start * UNIT_BYTES..stretch.end * UNIT_BYTES,
                start_ps: start.0,
                done_ps: done.0,
                place: 0,
            });
            // What comes from the store has been in a frame.
            if [READ, WRITE, ALONG].contains(&cause) {
                let range = stretch.start * UNIT_BYTES..stretch.end * UNIT_BYTES;
                let page = u64::from(page);
                self.recorder.moved_again(page, range, done.0);
            }
        }
    }

    /// The bytes of the map.
    pub(super) fn finish(self, end: Picos) -> Vec<u8> {
        self.recorder.finish("", end.0, 0).encode()
    }
}

/// Memory that began at a time, one block of it after the other: the first unit of each area, and its units.
fn areas(events: &[TraceEvent]) -> Vec<(u64, u64)> {
    let mut areas: Vec<(u64, u64)> = Vec::new();
    let mut joins = false;
    for event in events {
        let TraceEvent::Enter { first, units } = event else {
            joins = false;
            continue;
        };
        let known = areas.last().map_or(0, |(first, units)| first + units);
        match areas.last_mut() {
            Some(area) if joins && *first == known => area.1 += u64::from(*units),
            _ if *first >= known && *units > 0 => areas.push((*first, u64::from(*units))),
            // A block that was memory before.
            _ => {}
        }
        joins = true;
    }
    areas
}
