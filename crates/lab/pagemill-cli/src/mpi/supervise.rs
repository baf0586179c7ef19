//! Ends a job one of whose processes is stopped: the others would wait for it without end.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use pagemill_fabric::board::StationView;
use pagemill_linux::process::is_stopped;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// A rank that was stopped longer than the others wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    pub rank: u32,
    pub process: u32,
}

/// Looks at the job's processes until the other end of `end` is dropped, or one has been stopped for `patience`.
pub fn wait_for_stopped(
    stations: impl Fn() -> Vec<StationView>,
    patience: Duration,
    end: &Receiver<()>,
) -> Option<Stopped> {
    let mut watch = Watch::new(patience);
    while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        let stopped = stations()
            .into_iter()
            .filter(|station| !station.is_gone && is_stopped(station.process));
        let stopped = stopped.map(|station| Stopped {
            rank: station.index,
            process: station.process,
        });
        if let Some(stopped) = watch.see(stopped) {
            return Some(stopped);
        }
    }
    None
}

/// Counts looks, not time: while this process is stopped together with the others, no time passes.
struct Watch {
    looks_max: u128,
    looks: BTreeMap<u32, u128>,
}

impl Watch {
    fn new(patience: Duration) -> Self {
        Self {
            looks_max: patience.as_millis() / LOOK.as_millis(),
            looks: BTreeMap::new(),
        }
    }

    /// One look. Returns who has been stopped for too long.
    fn see(&mut self, stopped: impl Iterator<Item = Stopped>) -> Option<Stopped> {
        let before = std::mem::take(&mut self.looks);
        let mut first = None;
        for one in stopped {
            let looks = before.get(&one.process).map_or(1, |looks| looks + 1);
            self.looks.insert(one.process, looks);
            if looks > self.looks_max {
                first = first.or(Some(one));
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANK: Stopped = Stopped {
        rank: 1,
        process: 77,
    };

    #[test]
    fn only_a_process_that_stays_stopped_ends_the_job() {
        let mut watch = Watch::new(Duration::from_millis(300));
        for _ in 0..3 {
            assert_eq!(watch.see([RANK].into_iter()), None);
        }
        // It went on for a moment.
        assert_eq!(watch.see([].into_iter()), None);
        for _ in 0..3 {
            assert_eq!(watch.see([RANK].into_iter()), None);
        }
        assert_eq!(watch.see([RANK].into_iter()), Some(RANK));
    }
}
