//! A coordinator in a thread of the test, and holders of processes that do nothing.

use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pagemill_color::protocol::{Colors, Need, Status, TaskStatus};
use pagemill_color::{ColorSpace, Coordinator, CoordinatorConfig, Holder, HolderConfig};
use pagemill_linux::Result;
use pagemill_linux::color_module::Recolored;
use pagemill_linux::stop::Stopper;
use pagemill_policy::coloring::ColorRange;
use pagemill_policy::coloring::quota::QUOTA_POLICIES;

pub const COLORS: u16 = 64;

/// Long enough for anything but a hang.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Running {
    pub config: CoordinatorConfig,
    daemon: Option<(Stopper, JoinHandle<()>)>,
    _folder: tempfile::TempDir,
}

/// A coordinator of 64 colors that does not wait for tasks; `change` may say otherwise.
pub fn coordinator(change: impl FnOnce(&mut CoordinatorConfig)) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = CoordinatorConfig {
        socket: folder.path().join("color.sock"),
        socket_mode: 0o600,
        colors: COLORS,
        policy: QUOTA_POLICIES.find("best-quota").expect("in the registry"),
        grace: Duration::ZERO,
        settle: Duration::ZERO,
    };
    change(&mut config);
    let mut running = Running {
        config,
        daemon: None,
        _folder: folder,
    };
    running.start();
    running
}

impl Running {
    pub fn start(&mut self) {
        let mut coordinator = Coordinator::new(&self.config).expect("a coordinator");
        let stopper = coordinator.stopper();
        let body = move || coordinator.run().expect("served");
        self.daemon = Some((stopper, std::thread::spawn(body)));
    }

    pub fn stop(&mut self) {
        if let Some((stopper, thread)) = self.daemon.take() {
            stopper.stop();
            thread.join().expect("the coordinator stays up");
        }
    }

    pub fn status(&self) -> Status {
        pagemill_color::status(&self.config.socket).expect("a status")
    }

    /// Waits for a state of the coordinator.
    pub fn until(&self, what: &str, is_so: impl Fn(&Status) -> bool) -> Status {
        let begun = Instant::now();
        loop {
            let status = self.status();
            if is_so(&status) {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "never {what}: {status:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until so many tasks have the colors that they were given.
    pub fn until_settled(&self, tasks: usize) -> Vec<TaskStatus> {
        let has_its_own = |task: &TaskStatus| task.given.is_some() && task.has == task.given;
        self.until("settled", |status| {
            status.tasks.len() == tasks && status.tasks.iter().all(has_its_own)
        })
        .tasks
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A space that only records its orders.
struct Noted(Arc<Mutex<Vec<ColorRange>>>);

impl ColorSpace for Noted {
    fn colors(&self) -> u16 {
        COLORS
    }

    fn recolor(&mut self, range: ColorRange) -> Result<Recolored> {
        let mut orders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        orders.push(range);
        Ok(Recolored {
            pages: 100,
            planned: 7,
        })
    }

    fn pages(&self) -> Result<u64> {
        Ok(0)
    }

    fn file(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        unreachable!("no test asks for it")
    }
}

/// A process that sleeps, and its holder.
pub struct Task {
    process: Child,
    thread: Option<JoinHandle<()>>,
    orders: Arc<Mutex<Vec<ColorRange>>>,
}

impl Task {
    pub fn start(
        socket: PathBuf,
        name: &str,
        need: Option<Need>,
    ) -> std::result::Result<Self, String> {
        let mut process = Command::new("/bin/sleep")
            .arg("1000")
            .spawn()
            .expect("it sleeps");
        let orders = Arc::new(Mutex::new(Vec::new()));
        let config = HolderConfig {
            process: process.id(),
            name: name.to_owned(),
            need,
            coordinator: socket,
        };
        let mut holder = match Holder::new(config, Box::new(Noted(Arc::clone(&orders)))) {
            Ok(holder) => holder,
            Err(error) => {
                process.kill().expect("it runs");
                process.wait().expect("it ends");
                return Err(error.to_string());
            }
        };
        let body = move || {
            holder
                .run(&mut |message| eprintln!("{message}"))
                .expect("held")
        };
        Ok(Self {
            process,
            thread: Some(std::thread::spawn(body)),
            orders,
        })
    }

    /// Every change of its colors, the first included.
    pub fn orders(&self) -> Vec<Colors> {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.iter().map(|range| Colors::from(*range)).collect()
    }
}

impl Drop for Task {
    /// Ends the process; the holder follows by itself.
    fn drop(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the holder ends with its task");
        }
    }
}
