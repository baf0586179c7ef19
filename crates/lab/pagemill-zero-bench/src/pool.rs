use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use pagemill_linux::clock::monotonic_ns;
use pagemill_linux::hugetlb::{HugeSize, Reserve};
use pagemill_linux::scratch::Scratch;
use pagemill_linux::{Backing, Mapping, OsError};
use pagemill_zero_client::protocol::Status;
use pagemill_zero_client::{Client, ClientError, Exhausted, Lease, Request};

use pagemill_zero::engines::{EngineError, by_name};
use pagemill_zero::pool::{Config, Pool, PoolError, Stopper};

pub(super) const SIZE: HugeSize = HugeSize::Mib2;
const WAIT_MS: u64 = 120_000;
const STOCK_WAIT_NS: u64 = 20_000_000_000;

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The kernel refuses.
    #[error(transparent)]
    Os(#[from] OsError),
    /// The pool did not start, or failed.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The pool does not lend.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// No engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// A pool of this process, with huge pages for it and as many for the kernel's own faults.
pub(crate) struct BenchPool {
    pub client: Client,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
    socket: PathBuf,
    _folder: Scratch,
    pages: usize,
    _reserve: Option<Reserve>,
}

impl BenchPool {
    pub fn start(pages: usize, kernel_pages: usize) -> Result<Self, BenchError> {
        let reserve = Reserve::more(SIZE, pages + kernel_pages)?;
        Self::start_with(pages, Some(reserve))
    }

    /// A pool of pages that are in the kernel's stock already. It waits until they are clean, but not for pages that others take
    /// from the stock meanwhile.
    pub fn on_stock(pages: usize) -> Result<Self, BenchError> {
        let mut pool = Self::start_with(pages, None)?;
        let until_ns = monotonic_ns() + STOCK_WAIT_NS;
        while monotonic_ns() < until_ns && pool.client.status()?.pages.clean < pages as u64 {
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(pool)
    }

    /// Where it listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    fn start_with(pages: usize, reserve: Option<Reserve>) -> Result<Self, BenchError> {
        let folder = Scratch::new("bench")?;
        let config = Config::new(folder.path().join("zero.sock"), SIZE, pages);
        let mut pool = Pool::new(&config, by_name("auto")?)?;
        let stopper = pool.stopper();
        let thread = std::thread::spawn(move || {
            // What fails shows in the client.
            let _ = pool.run(&mut |told| eprintln!("pool: {told}"));
        });
        Ok(Self {
            client: Client::connect(&config.socket)?,
            stopper,
            thread: Some(thread),
            socket: config.socket,
            _folder: folder,
            pages,
            _reserve: reserve,
        })
    }

    /// Borrows, once everything is clean.
    pub fn lease(&mut self, bytes: u64) -> Result<Lease, BenchError> {
        self.until_clean()?;
        let request = Request::bytes(bytes).when_exhausted(Exhausted::Wait(WAIT_MS));
        Ok(self.client.lease(&request)?)
    }

    /// Borrows at once.
    pub fn lease_now(&mut self, bytes: u64) -> Result<Lease, BenchError> {
        Ok(self.client.lease(&Request::bytes(bytes))?)
    }

    /// Waits until the cleaner has nothing to do.
    pub fn until_clean(&mut self) -> Result<Status, BenchError> {
        loop {
            let status = self.client.status()?;
            if status.pages.clean == self.pages as u64 {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for BenchPool {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Huge pages that the kernel clears when they are touched.
pub(super) fn kernel_memory(bytes: usize) -> Result<Mapping, BenchError> {
    Ok(Mapping::new(Backing::HugeAnonymous(SIZE), bytes, false)?)
}
