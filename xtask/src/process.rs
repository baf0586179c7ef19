//! Running other programs.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};

pub use pagemill_vm::process::{output, run, shown, succeeds};

/// The `cargo` that runs us, in the workspace's root.
pub fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(crate::workspace::root());
    command
}

/// The same at a low priority: it takes what others leave of the processors.
pub fn idle_cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new("nice");
    command
        .args(["-n", "15"])
        .arg(cargo(&[]).get_program())
        .args(arguments)
        .current_dir(crate::workspace::root());
    command
}

/// Longer than any test, any benchmark, and the building of what comes next.
const SILENCE_MAX: Duration = Duration::from_secs(10 * 60);

/// How often is looked whether a silent program is still there.
const TICK: Duration = Duration::from_secs(1);

/// Runs to the end, showing its output on stderr line by line and giving each line to `see`; returns whether the exit code was
/// 0. A program that says nothing for ten minutes hangs: it is ended, with all that it started.
pub fn watch(command: &mut Command, see: impl FnMut(&str)) -> Result<bool> {
    watch_for(command, SILENCE_MAX, see)
}

fn watch_for(
    command: &mut Command,
    silence_max: Duration,
    mut see: impl FnMut(&str),
) -> Result<bool> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let cannot = format!("cannot run `{}`", shown(command));
    let mut child = command.spawn().context(cannot.clone())?;
    let (sender, lines) = channel();
    send_lines(
        child.stdout.take().expect("stdout is piped"),
        sender.clone(),
    );
    send_lines(child.stderr.take().expect("stderr is piped"), sender);
    let mut silence = Duration::ZERO;
    let tick = silence_max.min(TICK);
    loop {
        match lines.recv_timeout(tick) {
            Ok(line) => {
                let line = line.context(cannot.clone())?;
                eprintln!("{line}");
                see(&line);
                silence = Duration::ZERO;
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Ok(child.wait().context(cannot)?.success());
            }
            Err(RecvTimeoutError::Timeout) => {
                // What it left running may hold its output open.
                if let Some(status) = child.try_wait().context(cannot.clone())? {
                    return Ok(status.success());
                }
                silence += tick;
            }
        }
        if silence >= silence_max {
            end_tree(child.id())?;
            child.wait().context(cannot)?;
            bail!(
                "`{}` said nothing for {} s and was ended: its last line on standard error shows what hangs",
                shown(command),
                silence_max.as_secs()
            );
        }
    }
}

/// Does `work`. What this thread has started is ended once it takes longer than `limit`; returns what `work` makes of that, and
/// whether it was cut short.
pub fn within<T>(limit: Duration, work: impl FnOnce() -> T) -> (T, bool) {
    let (done, is_done) = channel::<()>();
    let own = std::fs::read_link("/proc/thread-self").map(|own| Path::new("/proc").join(own));
    let watchdog = std::thread::spawn(move || {
        let is_late = is_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
        if is_late {
            for child in own.into_iter().flat_map(|own| children_of(&own)) {
                // One that has ended meanwhile needs no end.
                let _ = end_tree(child);
            }
        }
        is_late
    });
    let result = work();
    drop(done);
    (result, watchdog.join().unwrap_or(false))
}

fn send_lines(output: impl Read + Send + 'static, to: Sender<io::Result<String>>) {
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map(|line| String::from_utf8_lossy(&line).into_owned());
            if to.send(line).is_err() {
                return;
            }
        }
    });
}

/// Kills a process and all below it. Stopped first, so that none starts another meanwhile.
fn end_tree(root: u32) -> Result<()> {
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(&process) = tree.get(next) {
        signal("STOP", &[process])?;
        tree.extend(children(process));
        next += 1;
    }
    signal("KILL", &tree)
}

fn children(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    tasks.flat_map(|task| children_of(&task.path())).collect()
}

/// What the thread whose folder of `/proc` is `task` has started.
fn children_of(task: &Path) -> Vec<u32> {
    let children = std::fs::read_to_string(task.join("children")).unwrap_or_default();
    let numbers = children.split_whitespace().flat_map(str::parse);
    numbers.collect()
}

/// Processes that are gone already are no error.
fn signal(name: &str, processes: &[u32]) -> Result<()> {
    let mut kill = Command::new("kill");
    kill.arg(format!("-{name}"))
        .args(processes.iter().map(u32::to_string))
        .stderr(Stdio::null());
    kill.status().context("cannot start `kill`")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_nothing_is_ended_with_all_it_started() {
        let mut seen = Vec::new();
        let mut hangs = Command::new("sh");
        hangs.args(["-c", "sh -c 'sleep 1000 & echo $!; wait'; echo never"]);
        let ended = watch_for(&mut hangs, Duration::from_secs(1), |line| {
            seen.push(line.to_owned());
        });
        let error = ended.expect_err("it hangs").to_string();
        assert!(error.contains("said nothing for 1 s"), "{error}");
        assert_eq!(seen.len(), 1, "{seen:?}");
        // A killed process is there until it has run once more, and a zombie until its parent has waited for it.
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", seen[0]));
        while state().is_ok_and(|state| !state.contains(") Z ")) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn what_takes_too_long_is_cut_short() {
        let sleep = || {
            Command::new("sleep")
                .arg("1000")
                .status()
                .expect("it starts")
        };
        let (status, is_cut) = within(Duration::from_millis(100), sleep);
        assert!(is_cut && !status.success());
        let (answer, is_cut) = within(Duration::from_secs(1000), || 7);
        assert_eq!((answer, is_cut), (7, false));
    }

    #[test]
    fn what_a_program_leaves_running_is_not_waited_for() {
        let mut seen = Vec::new();
        let mut leaves = Command::new("sh");
        leaves.args(["-c", "sleep 1000 & echo $!; exit 1"]);
        assert!(!watch(&mut leaves, |line| seen.push(line.to_owned())).expect("it runs"));
        signal("KILL", &[seen[0].parse().expect("a process")]).expect("`kill` starts");
    }

    #[test]
    fn every_line_is_seen_and_the_exit_code_told() {
        let mut seen = String::new();
        let mut see = |line: &str| seen.push_str(line);
        let mut says = Command::new("sh");
        says.args(["-c", "echo a >&2; sleep 0.1; printf 'b\\nc'; exit 1"]);
        assert!(!watch(&mut says, &mut see).expect("it runs"));
        assert_eq!(seen, "abc");
    }
}
