use std::ops::Range;

use super::{ReadAhead, ReadAheadEntry, UNITS_AHEAD_MAX};

/// Streams that are followed at the same time.
const STREAMS: usize = 16;

/// How many units a fault may lie behind the expected one and still belong to the stream: other threads and earlier
/// visits leave units in memory that do not fault.
const SLACK_UNITS: u64 = UNITS_AHEAD_MAX as u64;

/// Follows streams of faults, ascending or descending: each fault of a stream brings twice as much ahead as the one before.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// The stream first that faulted last.
    streams: Vec<Stream>,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    /// The first unit in its way that it has not brought yet.
    next: u64,
    ahead: u32,
    descends: bool,
}

impl Streams {
    /// How commands and scenarios find this policy.
    pub const ENTRY: ReadAheadEntry = ReadAheadEntry {
        name: "streams",
        summary: "follows up to 16 ascending or descending streams of faults, and doubles what it brings ahead up to 256 KiB",
        build: || Box::new(Self::default()),
    };
}

impl Stream {
    /// Whether a fault at `unit` is the stream's, and then whether it descends. A single fault may have begun either.
    fn goes_on(&self, unit: u64) -> Option<bool> {
        let is_behind = match self.descends {
            false => (self.next..=self.next + SLACK_UNITS).contains(&unit),
            true => (self.next.saturating_sub(SLACK_UNITS)..=self.next).contains(&unit),
        };
        // After one fault at u the stream expects u + 1. A second one at u - 1, two below that, shows that it
        // descends.
        let turns = self.ahead == 0 && !self.descends && unit + 2 == self.next;
        (is_behind || turns).then_some(self.descends || turns)
    }
}

impl ReadAhead for Streams {
    fn faulted(&mut self, unit: u64) -> Range<u64> {
        let found = self.streams.iter().enumerate();
        let found = found.filter_map(|(index, stream)| Some((index, stream.goes_on(unit)?)));
        // 0, 1, 3, 7 .. 63 ahead, so a fault moves 1, 2, 4 .. 64 units with its own: a program that reads at random
        // pays for none that it does not touch, and one that streams has a 64th of the faults after six.
        let (ahead, descends) = match found.into_iter().next() {
            Some((index, descends)) => {
                let ahead = self.streams.remove(index).ahead;
                ((ahead * 2 + 1).min(UNITS_AHEAD_MAX), descends)
            }
            None => {
                self.streams.truncate(STREAMS - 1);
                (0, false)
            }
        };
        let moved = match descends {
            false => unit..unit + u64::from(ahead) + 1,
            true => unit.saturating_sub(ahead.into())..unit + 1,
        };
        let next = match descends {
            false => moved.end,
            true => moved.start.saturating_sub(1),
        };
        let stream = Stream {
            next,
            ahead,
            descends,
        };
        self.streams.insert(0, stream);
        moved
    }
}
