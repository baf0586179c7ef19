use super::{ReadAhead, ReadAheadEntry, UNITS_AHEAD_MAX};

/// Streams that are followed at the same time.
const STREAMS: usize = 16;

/// How many units a fault may lie behind the expected one and still belong to the stream: other threads and earlier
/// visits leave units in memory that do not fault.
const SLACK_UNITS: u64 = UNITS_AHEAD_MAX as u64;

/// Follows ascending streams of faults: each fault of a stream brings twice as much ahead as the one before.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// The stream first that faulted last.
    streams: Vec<Stream>,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    /// The first unit that the stream has not brought yet.
    next: u64,
    ahead: u32,
}

impl Streams {
    /// How commands and scenarios find this policy.
    pub const ENTRY: ReadAheadEntry = ReadAheadEntry {
        name: "streams",
        summary: "follows up to 16 ascending streams of faults, and doubles what it brings ahead up to 256 KiB",
        build: || Box::new(Self::default()),
    };
}

impl ReadAhead for Streams {
    fn faulted(&mut self, unit: u64) -> u32 {
        let of_stream = |stream: &Stream| (stream.next..=stream.next + SLACK_UNITS).contains(&unit);
        let ahead = match self.streams.iter().position(of_stream) {
            Some(index) => {
                let ahead = self.streams.remove(index).ahead;
                (ahead * 2 + 1).min(UNITS_AHEAD_MAX)
            }
            None => {
                self.streams.truncate(STREAMS - 1);
                0
            }
        };
        let next = unit + u64::from(ahead) + 1;
        self.streams.insert(0, Stream { next, ahead });
        ahead
    }
}
