//! A pool for a test, and programs that are preloaded.

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;
use std::time::Duration;

use pagemill_linux::hugetlb::{HugeSize, Reserve};
use pagemill_linux::stop::Stopper;
use pagemill_zero::engines::by_name;
use pagemill_zero::pool::{Config, Pool};
use pagemill_zero_client::Client;
use pagemill_zero_client::protocol::Status;
use tempfile::TempDir;

/// Stopped when it is dropped.
pub struct TestPool {
    folder: TempDir,
    /// A copy that every user can read, and that no build replaces.
    library: PathBuf,
    pages: usize,
    client: Client,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
    _reserve: Reserve,
}

impl TestPool {
    /// A pool of clean pages; `None` where the machine has none.
    pub fn start(pages: usize) -> Option<Self> {
        let reserve = Reserve::more(HugeSize::Mib2, pages).ok()?;
        let folder = tempfile::tempdir().expect("a folder");
        let for_all_users = Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), for_all_users).expect("permissions");
        let library = folder.path().join("library.so");
        std::fs::copy(self::library(), &library).expect("a copy of the library");
        let config = Config::new(folder.path().join("zero.sock"), HugeSize::Mib2, pages);
        let mut pool = Pool::new(&config, by_name("auto").expect("a CPU")).expect("a pool");
        let stopper = pool.stopper();
        let thread = std::thread::spawn(move || pool.run(&mut |_| {}).expect("served"));
        let client = Client::connect(&config.socket).expect("connected");
        let mut pool = Self {
            folder,
            library,
            pages,
            client,
            stopper,
            thread: Some(thread),
            _reserve: reserve,
        };
        pool.wait_until_clean();
        Some(pool)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn status(&mut self) -> Status {
        self.client.status().expect("a status")
    }

    /// Waits until every page is back, and clean.
    pub fn wait_until_clean(&mut self) {
        for _ in 0..6000 {
            if self.status().pages.clean == self.pages as u64 {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("pages are not clean after 30 s: {:?}", self.status());
    }

    /// Has programs use this pool.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let socket = self.folder.path().join("zero.sock");
        vec![
            ("LD_PRELOAD", self.library.clone().into()),
            ("PAGEMILL_ZERO_SOCKET", socket.into()),
        ]
    }

    /// Runs a program on this pool.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.envs(self.environment());
        command
    }
}

impl Drop for TestPool {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(
                ended.is_ok() || std::thread::panicking(),
                "the daemon stays up"
            );
        }
    }
}

/// Where cargo puts the library: beside this test.
pub fn library() -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    let library = test.with_file_name("libpagemill_zero_preload.so");
    assert!(library.is_file(), "no {}", library.display());
    library
}
