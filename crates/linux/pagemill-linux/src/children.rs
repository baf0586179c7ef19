//! Programs that this process runs for its user, and that end with it.
//!
//! A program whose parent is killed gets SIGKILL or SIGTERM by the kernel. A parent that is asked to end calls [`end_all`] first.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, getpid, getppid, pidfd_open, pidfd_send_signal};

use crate::channel::wait_readable;
use crate::process::{Identity, ProcessWatch, Usage};
use crate::relay;

/// A program that has got a signal of a terminal, or of `timeout`, ends by itself within this time.
const BY_ITSELF: Duration = Duration::from_millis(500);

/// And within this time after SIGTERM.
const AFTER_TERM: Duration = Duration::from_secs(5);

/// Between two looks at the memory of a program.
const SAMPLE: Duration = Duration::from_millis(10);

/// What a program gets when its parent is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtKill {
    /// SIGKILL.
    Kill,
    /// SIGTERM, for programs that have to end others.
    Terminate,
}

/// Children that run, and whether more may be started.
struct Running {
    children: Vec<(u32, std::os::fd::OwnedFd)>,
    is_ending: bool,
}

static RUNNING: Mutex<Running> = Mutex::new(Running {
    children: Vec::new(),
    is_ending: false,
});

/// Runs a program to its end. It does not outlive this process.
///
/// The kernel watches the calling thread, which this function keeps until the program has ended.
///
/// # Errors
/// It cannot be started, or this process is about to end ([`end_all`]).
pub fn run(command: &mut Command, at_kill: AtKill) -> io::Result<ExitStatus> {
    let mut child = spawn(command, at_kill)?;
    let status = child.wait();
    forget(child.id());
    status
}

/// How a program ended, as a shell says it: 128 and the signal's number if one ended it.
pub fn exit_code(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128 + signal);
    let code = status.code().or(signal);
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// As [`run`], and says what the program used.
///
/// # Errors
/// As [`run`].
pub fn measure(command: &mut Command, at_kill: AtKill) -> io::Result<(ExitStatus, Usage)> {
    let own_bytes = high_water_bytes("self");
    let begun = Instant::now();
    let child = spawn(command, at_kill)?;
    let seen_bytes = watch_high_water(child.id());
    let waited = Usage::of_ended(child.id());
    let wall_ns = begun.elapsed().as_nanos() as u64;
    forget(child.id());
    let (status, mut usage) = waited?;
    usage.wall_ns = wall_ns;
    // A child starts as a copy of this process, which the kernel counts as its own memory.
    if usage.peak_bytes <= own_bytes && seen_bytes > 0 {
        usage.peak_bytes = seen_bytes;
    }
    Ok((status, usage))
}

/// The most memory that a child was seen to have had at once, until it ends.
fn watch_high_water(child: u32) -> u64 {
    let Ok(watch) = ProcessWatch::new(child) else {
        return 0;
    };
    let mut peak = 0;
    loop {
        peak = high_water_bytes(&child.to_string()).max(peak);
        if wait_readable(&[watch.as_fd()], Some(SAMPLE)).map_or(true, |ended| ended[0]) {
            return peak;
        }
    }
}

/// The most memory that a process has had at once since it started its program; 0 if it has ended.
fn high_water_bytes(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) << 10
}

fn forget(child: u32) {
    relay::ended();
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.children.retain(|(number, _)| *number != child);
}

fn spawn(command: &mut Command, at_kill: AtKill) -> io::Result<Child> {
    end_with_parent(command, at_kill);
    // Held over the start, so that no child is started that `end_all` does not see.
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if running.is_ending {
        return Err(io::ErrorKind::Interrupted.into());
    }
    let child = command.spawn()?;
    let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let handle = number.map(|number| pidfd_open(number, PidfdFlags::empty()));
    if let Some(Ok(handle)) = handle {
        relay::started(handle.as_fd());
        running.children.push((child.id(), handle));
    }
    Ok(child)
}

/// Has the kernel end the program of `command` when the thread that starts it ends, which a kill of this process does.
fn end_with_parent(command: &mut Command, at_kill: AtKill) {
    let signal = match at_kill {
        AtKill::Kill => Signal::KILL,
        AtKill::Terminate => Signal::TERM,
    };
    let parent = getpid();
    let ask = move || {
        relay::ignore_as_before();
        rustix::process::set_parent_process_death_signal(Some(signal))?;
        // It may have been killed before the kernel was asked.
        if getppid() == Some(parent) {
            Ok(())
        } else {
            Err(io::ErrorKind::NotConnected.into())
        }
    };
    // SAFETY: between fork and exec it makes a few system calls, and allocates and locks nothing.
    unsafe { command.pre_exec(ask) };
}

/// Kills this process when `owner` ends: for programs that are started by a program of [`run`], which the kernel does not end.
///
/// A thread waits for that. It takes no signals, so that handlers of the program run where they always did.
pub fn end_with(owner: &Identity) {
    let Ok(watch) = ProcessWatch::new(owner.process()) else {
        return;
    };
    if !owner.is_alive() {
        return;
    }
    let wait = move || {
        while matches!(wait_readable(&[watch.as_fd()], None), Ok(ended) if !ended[0]) {}
        let _ = rustix::process::kill_process(getpid(), Signal::KILL);
    };
    let builder = std::thread::Builder::new().name("pagemill-end".to_owned());
    // Without the thread, the program ends when it likes.
    let _ = without_signals(|| builder.stack_size(64 << 10).spawn(wait));
}

/// Threads that `start` starts get no signals of the process.
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: both sets are written before they are read, by `sigfillset` and by the exchange of masks, which cannot fail.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let started = start();
    // SAFETY: `before` was written above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    started
}

/// Ends all programs of [`run`] and lets none start any more: for a process that was asked to end.
///
/// Each gets half a second to end by itself, since a terminal signals it as well, then SIGTERM, and after five seconds SIGKILL.
pub fn end_all() {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.is_ending = true;
    let mut left: Vec<std::os::fd::OwnedFd> = running
        .children
        .iter()
        .filter_map(|(_, handle)| handle.try_clone().ok())
        .collect();
    drop(running);
    wait_for(&mut left, BY_ITSELF);
    end(left);
}

/// Ends the processes of these descriptors: by SIGTERM, and after five seconds by SIGKILL.
pub fn end(mut left: Vec<std::os::fd::OwnedFd>) {
    for (signal, patience) in [(Signal::TERM, AFTER_TERM), (Signal::KILL, AFTER_TERM)] {
        for handle in &left {
            // It may have ended.
            let _ = pidfd_send_signal(handle, signal);
        }
        wait_for(&mut left, patience);
    }
}

/// Waits until all have ended, or for so long; keeps those that have not.
fn wait_for(left: &mut Vec<std::os::fd::OwnedFd>, patience: Duration) {
    let until = Instant::now() + patience;
    while !left.is_empty() {
        let time = until.saturating_duration_since(Instant::now());
        let handles: Vec<_> = left.iter().map(AsFd::as_fd).collect();
        let Ok(ended) = wait_readable(&handles, Some(time)) else {
            return;
        };
        let mut ended = ended.iter();
        left.retain(|_| !ended.next().copied().unwrap_or(false));
        if time.is_zero() {
            return;
        }
    }
}
