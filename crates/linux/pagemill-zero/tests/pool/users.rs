//! Processes of several users, through the Python client.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};

use pagemill_testkit::skip;
use pagemill_zero::engines::NoOp;
use pagemill_zero::pool::Quota;

use crate::running::{PAGE, Running, borrow, is_zero, pool, pool_with};

const NOBODY: u32 = 65_534;

/// A Python program that uses the client, reading lines from us and writing lines to us.
struct Python {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Python {
    fn start(running: &Running, user: u32, program: &str) -> Option<Self> {
        let client = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../../clients/python/pagemill_zero.py"
        );
        let source = std::fs::read_to_string(client).expect("the client");
        let socket = running.socket();
        let text = format!(
            "{source}\nimport sys, signal\ndef say(x): os.write(1, (str(x) + '\\n').encode())\npool = Client({socket:?})\n{program}"
        );
        let mut command = Command::new("python3");
        command
            .arg("-c")
            .arg(text)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if user != 0 {
            command.uid(user).gid(user).current_dir("/");
            // A Python in a home folder cannot be run by other users.
            command.env("PATH", "/usr/bin:/bin");
        }
        match command.spawn() {
            Ok(mut child) => {
                let lines = BufReader::new(child.stdout.take().expect("piped"));
                Some(Self { child, lines })
            }
            Err(error) => {
                skip(&format!("cannot run python3 as user {user}: {error}"));
                None
            }
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("text");
        line.trim().to_owned()
    }

    fn go_on(&mut self) {
        let input = self.child.stdin.as_mut().expect("piped");
        input.write_all(b"\n").expect("it reads");
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_python_client_borrows_returns_and_hears_refusals() {
    let Some(running) = pool(3, |_| {}) else {
        return;
    };
    running.until_clean();
    let program = "
with pool.lease(2 << 21) as lease:
    maps = lease.map()
    say(sum(len(m) for m in maps) == lease.bytes == 2 << 21 and not any(any(m[::4096]) for m in maps))
    maps[0][0] = 1
    try: pool.lease(1 << 40)
    except Refused as refused: say(refused.reason)
say(pool.status()['leases'])
say('pagemill_zero_pages' in pool.metrics())
";
    let Some(mut python) = Python::start(&running, 0, program) else {
        return;
    };
    let said = [python.line(), python.line(), python.line(), python.line()];
    assert_eq!(said, ["True", "too_large", "0", "True"]);
}

#[test]
fn a_child_that_outlives_its_killed_parent_keeps_its_memory_to_itself() {
    let Some(running) = pool(1, |_| {}) else {
        return;
    };
    let program = "
lease = pool.lease(1 << 21, wait_ms=60000)
memory = lease.map()[0]
if os.fork() == 0:
    pool.close()
    say('child %d' % os.getpid())
    os.close(1); os.close(2)
    for _ in range(6000):
        memory[0:4096] = b'x' * 4096
        __import__('time').sleep(0.01)
    os._exit(0)
say('parent')
sys.stdin.readline()
";
    let Some(mut python) = Python::start(&running, 0, program) else {
        return;
    };
    let lines = [python.line(), python.line()];
    let child = lines
        .iter()
        .find_map(|line| line.strip_prefix("child "))
        .unwrap_or_else(|| panic!("no child: {lines:?}"));
    let child: i32 = child.parse().expect("a process");
    // Killed, not asked.
    drop(python);
    let status = running.until("returned", |status| status.pages.returned == 1);
    assert_eq!(status.pages.clean, 0, "the child writes to it still");
    assert_eq!(status.users[0].pages, 1, "and its user is charged");
    let child = rustix::process::Pid::from_raw(child).expect("a process");
    rustix::process::kill_process(child, rustix::process::Signal::KILL).expect("ours");
    running.until_clean();
    let mut client = running.client();
    let lease = borrow(&mut client, 1);
    assert!(is_zero(lease.map(true).expect("mapped").bytes()));
}

#[test]
fn bytes_never_pass_from_user_to_user_whatever_the_engine_does() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can be several users");
    }
    let Some(running) = pool_with(2, Box::new(NoOp), |config| config.quota = Quota::Pages(2))
    else {
        return;
    };
    let program = "
with pool.lease(2 << 21, wait_ms=60000) as lease:
    for memory in lease.map(): memory[:] = b'secret' * (len(memory) // 6) + b'se'
say('returned')
sys.stdin.readline()
";
    let Some(mut nobody) = Python::start(&running, NOBODY, program) else {
        return;
    };
    assert_eq!(nobody.line(), "returned");
    running.until_clean();
    let mut root = running.client();
    let lease = borrow(&mut root, 2);
    assert!(is_zero(lease.map(true).expect("mapped").bytes()));
    let status = root.status().expect("a status");
    // `NoOp` did clear two pages, for their own user, without a use for them.
    assert_eq!(status.counters.recycled_pages, 2);
    assert_eq!(status.counters.fresh_pages, 4);
    nobody.go_on();
}

#[test]
fn a_user_who_kept_a_path_to_a_returned_file_cannot_open_it() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can be several users");
    }
    let Some(running) = pool(1, |_| {}) else {
        return;
    };
    let program = "
lease = pool.lease(1 << 21, wait_ms=60000)
path = os.open('/proc/self/fd/%d' % lease.descriptors[0], os.O_PATH)
os.close(os.open('/proc/self/fd/%d' % path, os.O_RDWR)); say('own')
lease.close()
say('returned')
sys.stdin.readline()
for flags in (os.O_RDWR, os.O_RDONLY):
    try: os.open('/proc/self/fd/%d' % path, flags); say('opened')
    except PermissionError: say('refused')
";
    let Some(mut nobody) = Python::start(&running, NOBODY, program) else {
        return;
    };
    assert_eq!([nobody.line(), nobody.line()], ["own", "returned"]);
    running.until_clean();
    nobody.go_on();
    assert_eq!([nobody.line(), nobody.line()], ["refused", "refused"]);
    // Nor does it keep the page: another user gets it.
    let mut root = running.client();
    let lease = borrow(&mut root, 1);
    assert_eq!(lease.bytes() as u64, PAGE);
}

#[test]
fn one_user_at_its_quota_leaves_the_rest_to_others() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can be several users");
    }
    let Some(running) = pool(2, |config| config.quota = Quota::Pages(1)) else {
        return;
    };
    running.until_clean();
    let program = "
lease = pool.lease(1 << 21, wait_ms=60000)
try: pool.lease(1 << 21, wait_ms=60000)
except Refused as refused: say(refused.reason)
sys.stdin.readline()
";
    let Some(mut nobody) = Python::start(&running, NOBODY, program) else {
        return;
    };
    assert_eq!(nobody.line(), "quota");
    let mut root = running.client();
    let _lease = borrow(&mut root, 1);
    let users = root.status().expect("a status").users;
    assert_eq!(
        users
            .iter()
            .map(|user| (user.user, user.pages))
            .collect::<Vec<_>>(),
        [(0, 1), (NOBODY, 1)]
    );
}

#[test]
fn without_a_setting_one_user_gets_half_of_the_pool_and_root_all_of_it() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can be several users");
    }
    let Some(running) = pool(5, |_| {}) else {
        return;
    };
    running.until_clean();
    let program = "
lease = pool.lease(2 << 21, wait_ms=60000)
try: pool.lease(1 << 21, wait_ms=60000)
except Refused as refused: say(refused.reason)
lease.close()
say('closed')
sys.stdin.readline()
";
    let Some(mut nobody) = Python::start(&running, NOBODY, program) else {
        return;
    };
    assert_eq!(nobody.line(), "quota");
    assert_eq!(nobody.line(), "closed");
    let mut root = running.client();
    // It waits for what was returned.
    let lease = borrow(&mut root, 5);
    assert_eq!(lease.bytes() as u64, 5 * PAGE);
}
