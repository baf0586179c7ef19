//! SIGKILL at random moments: nothing is left after the next start, no byte is wrong, no neighbor waits.
//!
//! `cargo xtask test --full` makes it 200 kills of each command instead of a few.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{names, pagemill, stock};
use pagemill_linux::hugetlb::{HugeSize, Stock};
use pagemill_linux::userfault::{Feature, Support};
use pagemill_testkit::{few_or_many, skip};
use pagemill_zero_client::{Client, Exhausted, Request};
use serde_json::Value;

/// Longer than anything but a hang.
const PATIENCE: Duration = Duration::from_secs(120);

fn kills(few: u64) -> u64 {
    few_or_many(few, 200)
}

/// The same moments in every run, as parts of `most` (splitmix64).
fn moment(number: u64, most: Duration) -> Duration {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    most.mul_f64(((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64)
}

fn quiet(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = pagemill(folder);
    command
        .args(arguments)
        .env("TMPDIR", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn kill(mut child: Child) {
    child.kill().expect("our child");
    child.wait().expect("our child");
}

/// Runs to the end; how long that takes.
fn run_whole(folder: &Path, arguments: &[&str]) -> Duration {
    let begun = Instant::now();
    let output = quiet(folder, arguments)
        .stderr(Stdio::piped())
        .output()
        .expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    begun.elapsed()
}

/// Every file below a folder, with its bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), std::fs::read(&path).expect("a file"));
        }
    }
    found
}

#[test]
fn results_are_whole_or_not_there_and_the_next_run_leaves_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = ["run", "smoke", "--jobs", "1", "--out", "out"];
    let whole_run = run_whole(folder.path(), &run);
    let out = folder.path().join("out");
    let expected = contents(&out);
    for number in 0..kills(10) {
        if number % 2 == 0 {
            std::fs::remove_dir_all(&out).expect("it was there");
        }
        let child = quiet(folder.path(), &run).spawn().expect("it starts");
        std::thread::sleep(moment(number, whole_run));
        kill(child);
        if out.exists() {
            assert_eq!(contents(&out), expected, "kill {number}");
        } else {
            run_whole(folder.path(), &run);
        }
    }
    run_whole(folder.path(), &run);
    assert_eq!(names(folder.path()), ["out"]);
    assert_eq!(contents(&out), expected);
}

#[test]
fn a_sweep_that_is_killed_time_and_again_ends_with_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let sweep = |name: &str| ["run", "smoke", "--jobs", "2", "--keep", name].map(str::to_owned);
    let whole = sweep("whole");
    let whole: Vec<&str> = whole.iter().map(String::as_str).collect();
    let whole_run = run_whole(folder.path(), &whole);
    let cut = sweep("cut");
    let cut: Vec<&str> = cut.iter().map(String::as_str).collect();
    for number in 0..kills(10) {
        let child = quiet(folder.path(), &cut).spawn().expect("it starts");
        std::thread::sleep(moment(number, whole_run));
        kill(child);
    }
    run_whole(folder.path(), &cut);
    let results = |name: &str| {
        let folder = folder.path().join(name).join("results");
        let found = contents(&folder).into_iter();
        found
            .map(|(path, bytes)| (path.file_name().expect("a name").to_owned(), bytes))
            .collect::<BTreeMap<_, _>>()
    };
    assert_eq!(results("cut"), results("whole"));
    let left = contents(&folder.path().join("cut")).len();
    assert_eq!(
        left,
        contents(&folder.path().join("whole")).len(),
        "no half file"
    );
    assert_eq!(names(folder.path()), ["cut", "whole"]);
}

#[test]
fn programs_of_killed_commands_end_and_the_next_command_cleans_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut programs = Vec::new();
    for number in 0..kills(10) {
        let kind = ["cuda", "mpi"][(number % 2) as usize];
        let script = "echo $$; exec sleep 1000";
        let mut child = quiet(folder.path(), &[kind, "--", "sh", "-c", script])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        std::thread::sleep(moment(number, Duration::from_millis(100)));
        let stdout = child.stdout.take().expect("piped");
        kill(child);
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("text");
        // None where it was killed before its program began.
        programs.extend(line.trim().parse::<u32>().ok());
    }
    for kind in ["cuda", "mpi"] {
        let _ = quiet(folder.path(), &[kind, "--", "true"]).status();
    }
    assert_eq!(names(folder.path()), [""; 0]);
    let begun = Instant::now();
    for program in programs {
        while std::fs::read_to_string(format!("/proc/{program}/stat"))
            .is_ok_and(|stat| stat.contains("(sleep) ") && !stat.contains(") Z "))
        {
            assert!(begun.elapsed() < PATIENCE, "{program} still runs");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Waits until a daemon answers at a socket.
fn client(socket: &Path) -> Client {
    let begun = Instant::now();
    loop {
        match Client::connect(socket) {
            Ok(client) => return client,
            Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Borrows a page as often as the daemon lives, and looks at every byte of it. Says how many it got.
fn borrow_until_gone(socket: &Path) -> u64 {
    let mut pages = 0;
    let mut client = client(socket);
    let request = Request::bytes(1 << 21).when_exhausted(Exhausted::Wait(60_000));
    while let Ok(lease) = client.lease(&request) {
        let mut memory = lease.map(true).expect("mapped");
        let bytes = memory.bytes_mut();
        assert!(bytes.iter().all(|byte| *byte == 0), "bytes of another user");
        bytes.fill(0xA5);
        drop(memory);
        pages += 1;
        if client.give_back(lease).is_err() {
            break;
        }
    }
    pages
}

#[test]
fn a_pool_that_is_killed_time_and_again_keeps_no_page_and_lends_no_old_byte() {
    if pagemill_linux::process::own_user() != 0 {
        return skip("only root can change the stock of huge pages");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("zero.sock");
    let shown = socket.display().to_string();
    let _stock = stock();
    let before = Stock::read(HugeSize::Mib2).expect("a stock");
    let pages = (before.available_pages() + 4).to_string();
    let serve = [
        "zero",
        "serve",
        "--reserve",
        "--engine",
        "memset",
        "--pages",
        &pages,
        "--socket",
        &shown,
    ];
    let mut lent = 0;
    for number in 0..kills(10) {
        let child = quiet(folder.path(), &serve).spawn().expect("it starts");
        // Every other one is killed while it starts.
        if number % 2 == 0 {
            std::thread::sleep(moment(number, Duration::from_millis(60)));
            kill(child);
            continue;
        }
        let socket = socket.clone();
        let borrower = std::thread::spawn(move || borrow_until_gone(&socket));
        drop(client(&folder.path().join("zero.sock")));
        std::thread::sleep(moment(number, Duration::from_millis(300)));
        kill(child);
        lent += borrower.join().expect("clean pages");
    }
    assert!(lent > 0, "no page was ever lent");
    let mut last = quiet(folder.path(), &serve).spawn().expect("it starts");
    drop(client(&socket));
    let stopped = Command::new("kill").arg(last.id().to_string()).status();
    assert!(stopped.expect("kill starts").success());
    assert_eq!(last.wait().expect("our child").code(), Some(0));
    let after = Stock::read(HugeSize::Mib2).expect("a stock");
    assert_eq!(after.total_pages, before.total_pages);
    assert_eq!(names(folder.path()), [""; 0], "the socket is gone, too");
}

/// A program and the companion that holds its colors.
struct Task(Child);

impl Task {
    fn start(folder: &Path, socket: &str, name: &str) -> Self {
        let program = Command::new("sleep").arg("1000").spawn().expect("started");
        let task = Self(program);
        let process = task.0.id().to_string();
        let hold = [
            "color",
            "hold",
            "--process",
            &process,
            "--name",
            name,
            "--socket",
            socket,
            "--when-empty",
            "any",
            "--stand-in",
            "64",
            "--need",
            "{\"colors\":9}",
        ];
        let mut child = quiet(folder, &hold)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("text");
        assert!(line.contains("socket"), "{line:?}");
        child.wait().expect("our child");
        task
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Colors of each task, once all of `names` have what they were given.
fn colors(folder: &Path, socket: &str, names: &[&str]) -> BTreeMap<String, [u64; 2]> {
    let begun = Instant::now();
    loop {
        let status = ["color", "status", "--format", "json", "--socket", socket];
        let output = quiet(folder, &status)
            .stdout(Stdio::piped())
            .output()
            .expect("it starts");
        let status: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let tasks = status["tasks"].as_array().cloned().unwrap_or_default();
        let settled = tasks
            .iter()
            .filter(|task| task["given"].is_object() && task["given"] == task["has"]);
        let number = |task: &Value, key: &str| task["has"][key].as_u64().expect("a number");
        let found: BTreeMap<String, [u64; 2]> = settled
            .map(|task| {
                let name = task["name"].as_str().expect("a name").to_owned();
                (name, [number(task, "first"), number(task, "count")])
            })
            .collect();
        if found.keys().map(String::as_str).eq(names.iter().copied()) && tasks.len() == names.len()
        {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "never {names:?}: {status}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn tasks_keep_their_colors_however_often_the_coordinator_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("color.sock").display().to_string();
    let serve = [
        "color", "serve", "--colors", "64", "--grace", "5000", "--settle", "0", "--socket", &socket,
    ];
    let mut coordinator = quiet(folder.path(), &serve).spawn().expect("it starts");
    drop_when_there(&socket);
    let (_a, _b) = (
        Task::start(folder.path(), &socket, "a"),
        Task::start(folder.path(), &socket, "b"),
    );
    let before = colors(folder.path(), &socket, &["a", "b"]);
    let ([first, count], [other, _]) = (before["a"], before["b"]);
    assert!(first + count <= other || other < first, "{before:?}");
    for number in 0..kills(6) {
        kill(coordinator);
        coordinator = quiet(folder.path(), &serve).spawn().expect("it starts");
        if number % 2 == 0 {
            std::thread::sleep(moment(number, Duration::from_millis(60)));
        } else {
            assert_eq!(
                colors(folder.path(), &socket, &["a", "b"]),
                before,
                "kill {number}"
            );
        }
    }
    assert_eq!(colors(folder.path(), &socket, &["a", "b"]), before);
    kill(coordinator);
}

/// Waits for a socket file.
fn drop_when_there(socket: &str) {
    let begun = Instant::now();
    while !Path::new(socket).exists() {
        assert!(begun.elapsed() < PATIENCE, "no socket");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Writes 12 MiB and says what it reads there.
const PAGED: &str = "
memory = bytearray(12 << 20)
view = memoryview(memory)
for at in range(0, len(memory), 4096):
    view[at] = at // 4096 % 251
print(sum(view[at] for at in range(0, len(memory), 4096)))
";

fn paged_sum() -> String {
    let sum: u64 = (0..(12 << 20) / 4096).map(|unit| unit % 251).sum();
    format!("{sum}\n")
}

/// A page server in a folder of its own, and programs that use it.
struct Pages {
    folder: tempfile::TempDir,
    address: String,
}

impl Pages {
    /// None where memory cannot be paged.
    fn new() -> Option<Self> {
        let support = Support::probe()?;
        if !support.system_calls || !support.has(Feature::Move) {
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("token"), "a secret of this test\n").expect("written");
        let address = format!("unix:{}", folder.path().join("pages.sock").display());
        Some(Self { folder, address })
    }

    fn serve(&self) -> Child {
        let serve = [
            "pager",
            "serve",
            "--grace",
            "1",
            "--token-file",
            "token",
            "--listen",
            &self.address,
        ];
        let mut child = quiet(self.folder.path(), &serve)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let stderr = child.stderr.take().expect("piped");
        BufReader::new(stderr).read_line(&mut line).expect("text");
        assert!(line.contains("pages.sock"), "{line:?}");
        child
    }

    fn program(&self) -> Child {
        let to = ["pager", "run", "--memory", "4MiB", "--to", &self.address];
        let program = ["--token-file", "token", "--", "python3", "-S", "-c", PAGED];
        quiet(self.folder.path(), &[&to[..], &program].concat())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts")
    }

    /// The answer of an undisturbed program, and how long it takes.
    fn run_whole(&self) -> Duration {
        let begun = Instant::now();
        let output = self.program().wait_with_output().expect("our child");
        assert_eq!(String::from_utf8_lossy(&output.stdout), paged_sum());
        begun.elapsed()
    }

    fn kept_bytes(&self) -> String {
        let status = ["pager", "status", "--token-file", "token", "--server"];
        let output = quiet(
            self.folder.path(),
            &[&status[..], &[&self.address]].concat(),
        )
        .stdout(Stdio::piped())
        .output()
        .expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let name = "pagemill_pager_tenant_bytes{tenant=\"default\"} ";
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name}: {text}"))
            .to_owned()
    }

    fn stop(&self, mut server: Child) {
        let stopped = Command::new("kill").arg(server.id().to_string()).status();
        assert!(stopped.expect("kill starts").success());
        assert_eq!(server.wait().expect("our child").code(), Some(0));
        assert_eq!(names(self.folder.path()), ["token"], "no socket is left");
    }
}

const NO_PAGING: &str = "there is no userfaultfd with UFFDIO_MOVE for this user";

#[test]
fn a_page_server_keeps_nothing_of_clients_that_were_killed() {
    let Some(pages) = Pages::new() else {
        return skip(NO_PAGING);
    };
    let server = pages.serve();
    let whole_run = pages.run_whole();
    for number in 0..kills(6) {
        let child = pages.program();
        std::thread::sleep(moment(number, whole_run));
        kill(child);
    }
    let begun = Instant::now();
    while pages.kept_bytes() != "0" {
        assert!(
            begun.elapsed() < PATIENCE,
            "still {} bytes",
            pages.kept_bytes()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    pages.run_whole();
    pages.stop(server);
}

#[test]
fn programs_of_a_killed_page_server_end_and_see_no_wrong_byte() {
    let Some(pages) = Pages::new() else {
        return skip(NO_PAGING);
    };
    let mut server = pages.serve();
    let whole_run = pages.run_whole();
    for number in 0..kills(6) {
        let program = pages.program();
        std::thread::sleep(moment(number, whole_run));
        kill(server);
        let output = program.wait_with_output().expect("our child");
        let said = String::from_utf8_lossy(&output.stdout);
        // The server may have gone before the program started, in its middle, or after its last answer.
        match output.status.code() {
            Some(0) => assert_eq!(said, paged_sum(), "kill {number}"),
            code => assert!(
                matches!(code, Some(1 | 2)) && (said.is_empty() || said == paged_sum()),
                "kill {number}: {code:?} {said}"
            ),
        }
        server = pages.serve();
    }
    pages.run_whole();
    pages.stop(server);
}
