//! Faults that the faulting thread answers itself: no other thread has to wake, and then wake it.

use std::sync::{Arc, Mutex, PoisonError};

use pagemill_linux::userfault::{Answer, Answering, PagedFault};

use crate::BLOCK_BYTES;
use crate::pager::{Core, PagerError};
use crate::worker::Worker;

/// Workers that threads borrow, each for one fault.
struct InThread {
    core: Arc<Core>,
    workers: Vec<Mutex<Worker>>,
}

/// Answers faults until the result is dropped.
pub fn start(core: &Arc<Core>) -> Result<Answering, PagerError> {
    let userfault = core.userfault();
    let workers = (0..core.handlers()).map(|_| Worker::new(core, &userfault).map(Mutex::new));
    let workers = workers.collect::<pagemill_linux::Result<_>>()?;
    let core = Arc::clone(core);
    Ok(Answering::start(Arc::new(InThread { core, workers }))?)
}

impl Answer for InThread {
    fn answer(&self, fault: PagedFault) -> bool {
        if self.core.regions.find(fault.address).is_none() {
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
        worker.serve_timed(fault);
        true
    }
}
