//! Faults that the faulting thread answers itself: no other thread has to wake, and then wake it.

use std::sync::{Arc, Mutex, PoisonError};

use pagemill_linux::userfault::{Answer, Answering, PagedFault};

use crate::BLOCK_BYTES;

/// Serves one fault at a time.
pub trait Serve: Send + 'static {
    /// Makes the memory of a fault present.
    fn answer(&mut self, fault: PagedFault);
}

/// Workers that threads borrow, each for one fault.
struct InThread<W, O> {
    workers: Vec<Mutex<W>>,
    owns: O,
}

/// Answers faults at addresses that `owns` says yes to, until the result is dropped.
pub fn start<W: Serve>(
    workers: Vec<W>,
    owns: impl Fn(u64) -> bool + Send + Sync + 'static,
) -> pagemill_linux::Result<Answering> {
    let workers = workers.into_iter().map(Mutex::new).collect();
    Answering::start(Arc::new(InThread { workers, owns }))
}

impl<W: Serve, O: Fn(u64) -> bool + Send + Sync> Answer for InThread<W, O> {
    fn answer(&self, fault: PagedFault) -> bool {
        if !(self.owns)(fault.address) {
            return false;
        }
        let first = (fault.address / BLOCK_BYTES) as usize % self.workers.len();
        let (before, from) = self.workers.split_at(first);
        let free = from
            .iter()
            .chain(before)
            .find_map(|one| one.try_lock().ok());
        // A worker that another thread has becomes free without this thread: all that it waits for is other workers.
        let mut worker = free.unwrap_or_else(|| {
            let one = &self.workers[first];
            one.lock().unwrap_or_else(PoisonError::into_inner)
        });
        worker.answer(fault);
        true
    }
}
