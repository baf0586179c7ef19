//! A pool in a thread of the test.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pagemill_linux::hugetlb::{HugeSize, Reserve};
use pagemill_testkit::skip;
use pagemill_zero::engines::{Engine, by_name};
use pagemill_zero::pool::{Config, Pool, Stopper};
use pagemill_zero_client::protocol::Status;
use pagemill_zero_client::{Client, Exhausted, Lease, Request};

pub const PAGE: u64 = 2 << 20;

/// Long enough for anything but a hang.
const PATIENCE: Duration = Duration::from_secs(60);
pub const PATIENCE_MS: u64 = 60_000;

pub struct Running {
    pub config: Config,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
    _folder: tempfile::TempDir,
    _reserve: Reserve,
    _alone: MutexGuard<'static, ()>,
}

/// One pool at a time: the kernel's stock is common to all.
static ALONE: Mutex<()> = Mutex::new(());

/// A configuration of `pages` single pages; `change` may say otherwise.
pub fn pool(pages: usize, change: impl FnOnce(&mut Config)) -> Option<Running> {
    let engine = by_name("auto").expect("every machine has a CPU");
    pool_with(pages, engine, change)
}

/// The same, with an engine. `None`, and a counted skip, where there are no huge pages.
pub fn pool_with(
    pages: usize,
    engine: Box<dyn Engine>,
    change: impl FnOnce(&mut Config),
) -> Option<Running> {
    pool_of(HugeSize::Mib2, pages, engine, change)
}

/// The same, with pages of `size`.
pub fn pool_of(
    size: HugeSize,
    pages: usize,
    engine: Box<dyn Engine>,
    change: impl FnOnce(&mut Config),
) -> Option<Running> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let reserve = match Reserve::more(size, pages) {
        Ok(reserve) => reserve,
        Err(error) => {
            skip(&format!("no huge pages: {error}"));
            return None;
        }
    };
    let folder = tempfile::tempdir().expect("a folder");
    open_to_all(folder.path());
    let mut config = Config::new(folder.path().join("zero.sock"), size, pages);
    change(&mut config);
    let (stopper, thread) = start(&config, engine);
    Some(Running {
        config,
        stopper,
        thread: Some(thread),
        _folder: folder,
        _reserve: reserve,
        _alone: alone,
    })
}

fn open_to_all(folder: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    let all = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder, all).expect("a folder of ours");
}

fn start(config: &Config, engine: Box<dyn Engine>) -> (Stopper, JoinHandle<()>) {
    let mut pool = Pool::new(config, engine).expect("a pool");
    let stopper = pool.stopper();
    let body = move || {
        pool.run(&mut |told| eprintln!("pool: {told}"))
            .expect("served")
    };
    (stopper, std::thread::spawn(body))
}

impl Running {
    pub fn client(&self) -> Client {
        Client::connect(&self.config.socket).expect("connected")
    }

    pub fn socket(&self) -> PathBuf {
        self.config.socket.clone()
    }

    /// Waits for a state of the pool.
    pub fn until(&self, what: &str, is_so: impl Fn(&Status) -> bool) -> Status {
        let mut client = self.client();
        let begun = Instant::now();
        loop {
            let status = client.status().expect("a status");
            if is_so(&status) {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "never {what}: {status:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until all pages are clean.
    pub fn until_clean(&self) -> Status {
        let pages = self.config.pages() as u64;
        self.until("all clean", |status| status.pages.clean == pages)
    }

    /// Ends the daemon, and starts another in its place.
    pub fn restart(&mut self) {
        self.stop();
        let (stopper, thread) = start(&self.config, by_name("auto").expect("a CPU"));
        self.stopper = stopper;
        self.thread = Some(thread);
    }

    fn stop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the daemon stays up");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Borrows, waiting for the pool to have enough.
pub fn borrow(client: &mut Client, pages: u64) -> Lease {
    let request = Request::bytes(pages * PAGE).when_exhausted(Exhausted::Wait(PATIENCE_MS));
    client.lease(&request).expect("a lease")
}

/// Whether all of `memory` is zero.
pub fn is_zero(memory: &[u8]) -> bool {
    let zeroes = [0; 4096];
    let pages = memory.chunks_exact(zeroes.len());
    pages.remainder().is_empty() && pages.into_iter().all(|page| page == zeroes)
}
