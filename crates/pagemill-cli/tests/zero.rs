//! `pagemill zero` as processes: a daemon, its status, a program under it, the measurements, the kernel module's helper.

mod common;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use common::{pagemill, run, run_in};
use pagemill_linux::hugetlb::{HugeSize, Reserve, Stock};
use pagemill_testkit::skip;
use serde_json::Value;

const PAGES: usize = 16;

/// Huge pages are one stock for the whole machine: one test at a time takes from it.
fn stock() -> MutexGuard<'static, ()> {
    static STOCK: Mutex<()> = Mutex::new(());
    STOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A daemon that ends with the test.
struct Daemon(Child);

impl Daemon {
    /// Serves `socket`, and waits until it answers.
    fn start(socket: &str) -> Self {
        Self::start_with(socket, PAGES, &[])
    }

    /// The same with further options.
    fn start_with(socket: &str, pages: usize, options: &[&str]) -> Self {
        let child = pagemill(&std::env::temp_dir())
            .args(["zero", "serve", "--engine", "memset"])
            .args(["--pages", &pages.to_string(), "--socket", socket])
            .args(options)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut daemon = Self(child);
        for _ in 0..1200 {
            if run(&["zero", "status", "--socket", socket]).code == Some(0) {
                return daemon;
            }
            assert!(daemon.0.try_wait().expect("a child").is_none(), "it ended");
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("no answer at {socket}");
    }

    /// Ends it as Ctrl-C does, and returns its exit code.
    fn interrupt(mut self) -> Option<i32> {
        let id = self.0.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status();
        assert!(sent.expect("kill starts").success());
        self.0.wait().expect("it ends").code()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Where cargo puts the library, if it was built.
fn library() -> Option<PathBuf> {
    let command = Path::new(env!("CARGO_BIN_EXE_pagemill"));
    let folder = command.parent().expect("a folder");
    let name = "libpagemill_zero_preload.so";
    [folder.join(name), folder.join("deps").join(name)]
        .into_iter()
        .find(|path| path.is_file())
}

fn clean_pages(socket: &str) -> u64 {
    let status = json(&run(&["zero", "status", "--socket", socket, "--format", "json"]).result());
    status["pages"]["clean"].as_u64().expect("a count")
}

#[test]
fn a_pool_is_served_shown_used_and_stopped() {
    let _stock = stock();
    let _pages = match Reserve::available(HugeSize::Mib2, PAGES) {
        Ok(pages) => pages,
        Err(error) => return skip(&error.to_string()),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("zero.sock").display().to_string();
    let daemon = Daemon::start(&socket);

    let status = ["zero", "status", "--socket", socket.as_str()];
    assert!(run(&status).result().contains("engine memset"));
    let metrics = run(&[&status[..], &["--format", "prometheus"]].concat()).result();
    assert!(metrics.contains("# TYPE "), "{metrics}");
    for _ in 0..1200 {
        if clean_pages(&socket) == PAGES as u64 {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(clean_pages(&socket), PAGES as u64);

    match library() {
        None => skip("the preload library was not built"),
        Some(library) => {
            let library = library.display().to_string();
            let options = ["zero", "run", "--socket", &socket, "--library", &library];
            let program = ["--", "sh", "-c", "echo $LD_PRELOAD; exit 7"];
            let ran = run(&[&options[..], &program].concat());
            assert_eq!(ran.code, Some(7), "{}", ran.stderr);
            assert_eq!(ran.stdout.trim(), library);
        }
    }
    assert_eq!(daemon.interrupt(), Some(0));
    assert!(run(&status).error(1).contains(&socket));
}

/// Pages that a daemon with `--reserve` finds lacking, whatever is free already.
fn lacking_pages() -> Option<(usize, usize)> {
    if pagemill_linux::process::own_user() != 0 {
        skip("only root can change the stock of huge pages");
        return None;
    }
    let before = Stock::read(HugeSize::Mib2).expect("a stock");
    Some((before.total_pages, before.available_pages() + 3))
}

fn total_pages() -> usize {
    Stock::read(HugeSize::Mib2).expect("a stock").total_pages
}

#[test]
fn what_a_killed_daemon_added_is_given_back_by_the_next_one() {
    let _stock = stock();
    let Some((total, pages)) = lacking_pages() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("zero.sock").display().to_string();
    let daemon = Daemon::start_with(&socket, pages, &["--reserve"]);
    assert_eq!(total_pages(), total + 3);
    // Kills it.
    drop(daemon);
    assert_eq!(total_pages(), total + 3, "a kill leaves them");
    let next = Daemon::start_with(&socket, pages, &["--reserve"]);
    assert_eq!(total_pages(), total + 3, "they are used, not added again");
    assert_eq!(next.interrupt(), Some(0));
    assert_eq!(total_pages(), total);

    // A daemon that adds nothing itself gives them back at once.
    drop(Daemon::start_with(&socket, pages, &["--reserve"]));
    let next = Daemon::start_with(&socket, 1, &[]);
    assert_eq!(total_pages(), total);
    assert_eq!(next.interrupt(), Some(0));
}

#[test]
fn locks_of_other_users_keep_no_daemon_from_starting_or_ending() {
    let _stock = stock();
    let Some((total, pages)) = lacking_pages() else {
        return;
    };
    let Ok(locker) = NobodysLocks::take() else {
        return skip("there is no flock(1) to run as another user");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("zero.sock").display().to_string();
    let daemon = Daemon::start_with(&socket, pages, &["--reserve"]);
    assert_eq!(total_pages(), total + 3);
    assert_eq!(daemon.interrupt(), Some(0));
    assert_eq!(total_pages(), total);
    drop(locker);
}

/// Another user who locks all that it can of what has to do with the stock.
struct NobodysLocks(Vec<Child>);

impl NobodysLocks {
    fn take() -> std::io::Result<Self> {
        use std::os::unix::process::CommandExt;
        let mut locks = Self(Vec::new());
        let files = [
            "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
            "/sys/kernel/mm/hugepages/hugepages-2048kB",
            "/run/pagemill/hugepages",
            "/run/pagemill/hugepages/2048kB.lock",
        ];
        for file in files {
            let mut child = Command::new("flock")
                .args(["--exclusive", "--no-fork", file])
                .args(["sh", "-c", "echo; exec sleep 1000"])
                .uid(65_534)
                .gid(65_534)
                .current_dir("/")
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()?;
            // A line once it has the lock, or the end if it cannot have it.
            let mut line = [0];
            let _ = child.stdout.take().expect("piped").read(&mut line);
            locks.0.push(child);
        }
        Ok(locks)
    }
}

impl Drop for NobodysLocks {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_measurement_judges_its_own_figures() {
    let _stock = stock();
    let ran = run(&[
        "zero",
        "bench",
        "zero-latency",
        "--pages",
        "4",
        "--format",
        "json",
    ]);
    if ran.code == Some(1) {
        return skip(ran.stderr.trim());
    }
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let result = json(&ran.stdout);
    assert_eq!(result["rows"].as_array().map(Vec::len), Some(2));
    let claims = result["summary"]["claims"].as_array().expect("claims");
    assert!(claims.iter().all(|claim| claim["measured"].is_number()));
}

#[test]
fn without_the_module_its_helper_says_what_to_load() {
    if Path::new("/dev/pagemill_zero").exists() {
        return skip("the kernel module is loaded");
    }
    let message = run(&["zero", "serve", "--kernel", "--engine", "memset"]).error(1);
    for part in [
        "/dev/pagemill_zero",
        "load the module",
        "docs/zeroing-kernel.md",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn what_cannot_be_meant_is_bad_usage() {
    let folder = tempfile::tempdir().expect("a folder");
    for arguments in [
        &["zero"][..],
        &["zero", "serve"],
        &["zero", "serve", "--kernel", "--pages", "4"],
        &["zero", "serve", "--pages", "4", "--busy"],
        &["zero", "serve", "--pages", "4", "--size", "3M"],
        &["zero", "serve", "--pages", "4", "--shelf", "3=1"],
        &["zero", "serve", "--kernel", "--engine", "sand"],
        &["zero", "bench", "zero-gravity"],
        &["zero", "run"],
        &["zero", "run", "--library", "none.so", "--", "true"],
    ] {
        let message = run_in(folder.path(), arguments).error(2);
        assert!(!message.is_empty(), "{arguments:?}");
    }
}
