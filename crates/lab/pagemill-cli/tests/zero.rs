//! `pagemill zero` as processes: a daemon, its status, a program under it, the measurements, the kernel module's helper.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{compile, pagemill, run, run_in, stock};
use pagemill_linux::hugetlb::{HugeSize, Reserve, Stock};
use pagemill_testkit::skip;
use pagemill_zero_client::{Client, Request};
use serde_json::Value;

const PAGES: usize = 16;

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
    let mut client = Client::connect(Path::new(&socket)).expect("connected");
    assert!(client.lease(&Request::bytes(1 << 40)).is_err());
    drop(client);
    let shown = run(&status).result();
    let line = "0 pages lent, 1 requests refused (524288 pages: 1 larger than the pool)";
    assert!(shown.contains(line), "{shown}");
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
        "doctor",
        "zero",
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

/// A program that allocates 16 MiB at once, and touches them.
const TOUCH: &str = "
#include <stdlib.h>
int main(void) {
    volatile char *block = malloc(16 << 20);
    if (!block) return 1;
    for (int i = 0; i < 16 << 20; i += 4096) block[i] = 1;
    return 0;
}
";

/// The row of a setting.
fn advised<'a>(result: &'a Value, setting: &str) -> &'a Value {
    let rows = result["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["setting"] == setting);
    row.unwrap_or_else(|| panic!("no {setting}: {result}"))
}

#[test]
fn every_kind_of_pages_is_tried_or_has_a_reason() {
    let _stock = stock();
    let folder = tempfile::tempdir().expect("a folder");
    if !compile(folder.path(), "touch", TOUCH) {
        return;
    }
    let options = ["advise", "zero", "--runs", "3", "--format", "json"];
    let ran = run_in(folder.path(), &[&options[..], &["--", "./touch"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let result = json(&ran.stdout);
    assert_eq!(result["rows"].as_array().map(Vec::len), Some(8));
    for row in result["rows"].as_array().expect("rows") {
        let is_tried = row["wall_ns"].is_number();
        assert!(is_tried || row["note"].is_string(), "{row}");
        assert_eq!(is_tried, row["standing"] != "not tried", "{row}");
    }
    let small = &advised(&result, "4k")["faults"];
    assert!(small.is_null() || small.as_u64() >= Some(4096), "{small}");
    let used = result["summary"]["facts"]["use"].as_str().expect("advice");
    assert!(advised(&result, used)["wall_ns"].is_number(), "{used}");
    let table = run_in(
        folder.path(),
        &["advise", "zero", "--runs", "3", "--", "./touch"],
    );
    assert_eq!(table.code, Some(0), "{}", table.stderr);
    assert!(table.stdout.contains("as-is"), "{}", table.stdout);

    if pagemill_linux::process::own_user() != 0 || library().is_none() {
        return skip("huge pages can be added by root only, or the preload library was not built");
    }
    let reserved = [&options[..], &["--reserve", "--", "./touch"]].concat();
    let ran = run_in(folder.path(), &reserved);
    if ran.code == Some(1) {
        return skip(ran.stderr.trim());
    }
    let result = json(&ran.stdout);
    let pool = advised(&result, "pool");
    assert_eq!(pool["pool_pages"], 8, "{pool}");
    assert!(advised(&result, "hugetlb")["faults"].as_u64() < Some(4096));
}

#[test]
fn a_program_that_fails_is_not_compared() {
    let message = run(&["advise", "zero", "--", "sh", "-c", "echo why >&2; exit 3"]).error(1);
    for part in ["sh ended with exit code 3", "why", "nothing was compared"] {
        assert!(message.contains(part), "{message}");
    }
    let killed = run(&["advise", "zero", "--", "sh", "-c", "kill -9 $$"]).error(1);
    assert!(killed.contains("signal 9"), "{killed}");
    let missing = run(&[
        "advise",
        "zero",
        "--socket",
        "/none/zero.sock",
        "--",
        "true",
    ])
    .error(1);
    assert!(missing.contains("/none/zero.sock"), "{missing}");
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
        &["zero", "serve", "--pages", "99999999999999"],
        &[
            "zero",
            "serve",
            "--pages",
            "4",
            "--shelf",
            "9223372036854775809=2",
        ],
        &["zero", "serve", "--kernel", "--engine", "sand"],
        &["doctor", "zero", "zero-gravity"],
        &["zero", "run"],
        &["zero", "run", "--library", "none.so", "--", "true"],
        &["zero", "run", "--source", "sand", "--", "true"],
        &["advise", "zero"],
        &["advise", "zero", "--runs", "2", "--", "true"],
        &["advise", "zero", "--library", "none.so", "--", "true"],
        &["advise", "zero", "--", "./none"],
    ] {
        let message = run_in(folder.path(), arguments).error(2);
        assert!(!message.is_empty(), "{arguments:?}");
    }
}
