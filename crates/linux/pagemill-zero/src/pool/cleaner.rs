//! Who makes files clean meanwhile, and the thread that does.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use pagemill_linux::OsError;
use pagemill_linux::clock;
use pagemill_linux::hugetlb::{HugeFile, HugeSize};
use pagemill_policy::zeroing::{JobId, PageId};

use super::file::File;
use crate::engines::{Engine, EngineError};

/// Makes files clean while the daemon talks to clients. [`CleanerThread`] does; a test may have a simulated one.
pub trait Cleaner {
    /// What it makes clean.
    type File: File;

    /// Who clears.
    fn engine(&self) -> &'static str;

    /// Takes an order. When it is finished, the port's wait ends.
    fn order(&mut self, order: Order<Self::File>);

    /// The next order that is finished, if one is.
    fn next_finished(&mut self) -> Option<Finished<Self::File>>;
}

/// One file to make clean.
pub struct Order<F> {
    /// For which shelf.
    pub shelf: usize,
    /// Its number there.
    pub job: JobId,
    /// For which place.
    pub page: PageId,
    /// What to do.
    pub work: Work<F>,
}

/// How a clean file is made.
pub enum Work<F> {
    /// A new file: the kernel clears it while filling it.
    Fresh {
        /// Size of its pages.
        size: HugeSize,
        /// How many.
        pages: usize,
    },
    /// A file that no other process holds: the engine clears it.
    Scrub(F),
}

/// What became of an order.
pub struct Finished<F> {
    /// For which shelf.
    pub shelf: usize,
    /// The number of the order.
    pub job: JobId,
    /// For which place.
    pub page: PageId,
    /// Whether it was to be a new file.
    pub is_fresh: bool,
    /// The file, or why there is none.
    pub outcome: Outcome<F>,
    /// Elapsed time.
    pub wall_ns: u64,
    /// CPU time.
    pub cpu_ns: u64,
}

/// The end of an order.
pub enum Outcome<F> {
    /// All zeroes.
    Clean(F),
    /// There is no file; nothing writes to its pages any more.
    Failed(CleanError),
    /// The engine may still write, for ever. The file stays open and mapped, out of all users' reach.
    Stuck(CleanError),
}

/// Why a file is not clean.
#[derive(Debug, thiserror::Error)]
pub enum CleanError {
    /// The kernel refuses.
    #[error(transparent)]
    Os(#[from] OsError),
    /// The engine fails.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// The other end of the thread that clears. Dropping it ends the thread.
pub struct CleanerThread {
    orders: Option<Sender<Order<HugeFile>>>,
    finished: Receiver<Finished<HugeFile>>,
    thread: Option<JoinHandle<()>>,
    engine: &'static str,
}

impl CleanerThread {
    /// Starts the thread. After each order, what is returned beside it has something to read.
    ///
    /// # Errors
    /// No thread, or no socket pair.
    pub fn start(mut engine: Box<dyn Engine>) -> std::io::Result<(Self, UnixStream)> {
        let name = engine.name();
        let (wake, mut waker) = UnixStream::pair()?;
        for socket in [&wake, &waker] {
            socket.set_nonblocking(true)?;
        }
        let (orders, to_do) = channel::<Order<HugeFile>>();
        let (done, finished) = channel();
        let body = move || {
            while let Ok(order) = to_do.recv() {
                let finished = carry_out(engine.as_mut(), order);
                if done.send(finished).is_err() {
                    return;
                }
                // A full socket wakes its reader as well as one more byte would.
                let _ = waker.write(&[1]);
            }
        };
        let thread = std::thread::Builder::new().name("cleaner".to_owned());
        let cleaner = Self {
            orders: Some(orders),
            finished,
            thread: Some(thread.spawn(body)?),
            engine: name,
        };
        Ok((cleaner, wake))
    }
}

impl Cleaner for CleanerThread {
    type File = HugeFile;

    fn engine(&self) -> &'static str {
        self.engine
    }

    fn order(&mut self, order: Order<HugeFile>) {
        if let Some(orders) = &self.orders {
            // The thread ends only after this sender.
            let _ = orders.send(order);
        }
    }

    fn next_finished(&mut self) -> Option<Finished<HugeFile>> {
        self.finished.try_recv().ok()
    }
}

impl Drop for CleanerThread {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn carry_out(engine: &mut dyn Engine, order: Order<HugeFile>) -> Finished<HugeFile> {
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

fn fill(size: HugeSize, pages: usize) -> Outcome<HugeFile> {
    let filled = HugeFile::create(size, pages).and_then(|file| {
        file.populate()?;
        Ok(file)
    });
    match filled {
        Ok(file) => Outcome::Clean(file),
        Err(error) => Outcome::Failed(error.into()),
    }
}

fn scrub(engine: &mut dyn Engine, file: HugeFile) -> (Outcome<HugeFile>, u64) {
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
