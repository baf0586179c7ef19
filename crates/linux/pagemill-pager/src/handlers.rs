use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::JoinHandle;

use pagemill_linux::OsError;

/// The threads that answer faults.
#[derive(Debug, Default)]
pub struct Handlers {
    pub threads: Vec<JoinHandle<()>>,
    /// Readable from when they are to end. A child of `fork` has another: it must not end those of its parent.
    pub stop: Option<Arc<OwnedFd>>,
}

/// Where handlers keep their frames, by number.
#[derive(Debug, Default)]
pub struct FramePlaces(RwLock<Vec<Range<u64>>>);

impl FramePlaces {
    /// Where the frames of handler `number` start, or those of the parent's.
    pub fn place(&self, number: usize) -> Option<u64> {
        let places = self.0.read().unwrap_or_else(PoisonError::into_inner);
        places.get(number).map(|range| range.start)
    }

    /// Enters those of handler `number`, the numbers before which are entered.
    pub fn enter(&self, number: usize, range: Range<u64>) {
        let mut places = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match places.get_mut(number) {
            Some(place) => *place = range,
            None => places.push(range),
        }
    }

    /// Whether `address` is in one.
    pub fn has(&self, address: u64) -> bool {
        let places = self.0.read().unwrap_or_else(PoisonError::into_inner);
        places.iter().any(|range| range.contains(&address))
    }
}

/// A descriptor that has something to read once it is written to.
pub fn event() -> pagemill_linux::Result<OwnedFd> {
    rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC)
        .map_err(|error| OsError::new("make an event", error))
}
