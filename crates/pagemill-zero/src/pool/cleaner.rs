//! The thread that clears in the background.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use pagemill_linux::OsError;
use pagemill_linux::clock;
use pagemill_linux::hugetlb::{HugeFile, HugeSize};
use pagemill_policy::zeroing::{JobId, PageId};

use crate::engines::{Engine, EngineError};

/// One file to make clean.
pub(super) struct Order {
    pub shelf: usize,
    pub job: JobId,
    pub page: PageId,
    pub work: Work,
}

pub(super) enum Work {
    /// A new file: the kernel clears it while filling it.
    Fresh { size: HugeSize, pages: usize },
    /// A file that no other process holds: the engine clears it.
    Scrub(HugeFile),
}

/// What became of an order.
pub(super) struct Finished {
    pub shelf: usize,
    pub job: JobId,
    pub page: PageId,
    pub is_fresh: bool,
    pub outcome: Outcome,
    pub wall_ns: u64,
    pub cpu_ns: u64,
}

pub(super) enum Outcome {
    /// All zeroes.
    Clean(HugeFile),
    /// There is no file; nothing writes to its pages any more.
    Failed(CleanError),
    /// The engine may still write, for ever. The file stays open and mapped, out of all users' reach.
    Stuck(CleanError),
}

#[derive(Debug, thiserror::Error)]
pub(super) enum CleanError {
    #[error(transparent)]
    Os(#[from] OsError),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// The other end of the thread. Dropping it ends the thread.
pub(super) struct Cleaner {
    orders: Option<Sender<Order>>,
    finished: Receiver<Finished>,
    thread: Option<JoinHandle<()>>,
    pub engine: &'static str,
}

impl Cleaner {
    /// Starts the thread. It writes a byte to `wake` after each order.
    pub fn start(mut engine: Box<dyn Engine>, mut wake: UnixStream) -> std::io::Result<Self> {
        let name = engine.name();
        let (orders, to_do) = channel::<Order>();
        let (done, finished) = channel();
        let body = move || {
            while let Ok(order) = to_do.recv() {
                let finished = carry_out(engine.as_mut(), order);
                if done.send(finished).is_err() {
                    return;
                }
                // A full socket wakes its reader as well as one more byte would.
                let _ = wake.write(&[1]);
            }
        };
        let thread = std::thread::Builder::new().name("cleaner".to_owned());
        Ok(Self {
            orders: Some(orders),
            finished,
            thread: Some(thread.spawn(body)?),
            engine: name,
        })
    }

    /// Hands an order over.
    pub fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // The thread ends only after this sender.
            let _ = orders.send(order);
        }
    }

    /// The next order that is finished, if one is.
    pub fn next_finished(&self) -> Option<Finished> {
        self.finished.try_recv().ok()
    }
}

impl Drop for Cleaner {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn carry_out(engine: &mut dyn Engine, order: Order) -> Finished {
    let (wall, cpu) = (clock::monotonic_ns(), clock::thread_cpu_ns());
    let is_fresh = matches!(order.work, Work::Fresh { .. });
    let (outcome, engine_cpu_ns) = match order.work {
        Work::Fresh { size, pages } => (fill(size, pages), 0),
        Work::Scrub(file) => scrub(engine, file),
    };
    let own_cpu_ns = clock::thread_cpu_ns() - cpu;
    Finished {
        shelf: order.shelf,
        job: order.job,
        page: order.page,
        is_fresh,
        outcome,
        wall_ns: clock::monotonic_ns() - wall,
        // An engine with threads of its own counts more than this thread knows of.
        cpu_ns: own_cpu_ns.max(engine_cpu_ns),
    }
}

fn fill(size: HugeSize, pages: usize) -> Outcome {
    let filled = HugeFile::create(size, pages).and_then(|file| {
        file.populate()?;
        Ok(file)
    });
    match filled {
        Ok(file) => Outcome::Clean(file),
        Err(error) => Outcome::Failed(error.into()),
    }
}

fn scrub(engine: &mut dyn Engine, file: HugeFile) -> (Outcome, u64) {
    // The former holder may have punched holes: the kernel fills them with zeroes.
    let mapped = file.populate().and_then(|()| file.map(true));
    let mut mapping = match mapped {
        Ok(mapping) => mapping,
        Err(error) => return (Outcome::Failed(error.into()), 0),
    };
    match engine.zero(&mut [mapping.bytes_mut()]) {
        Ok(timing) => {
            drop(mapping);
            (Outcome::Clean(file), timing.cpu_ns)
        }
        Err(error @ EngineError::StillWriting { .. }) => {
            std::mem::forget((mapping, file));
            (Outcome::Stuck(error.into()), 0)
        }
        Err(error) => (Outcome::Failed(error.into()), 0),
    }
}
