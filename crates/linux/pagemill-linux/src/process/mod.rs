//! Other processes, and this one's user.

mod identity;
mod no_memory;
mod usage;

pub use identity::{Identity, is_stopped};
pub use no_memory::no_memory;
pub use usage::Usage;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::{Pid, PidfdFlags, getuid, pidfd_open};

use crate::{OsError, Result};

/// Sees the end of a process that is not a child: readable once it has ended.
#[derive(Debug)]
pub struct ProcessWatch(OwnedFd);

impl ProcessWatch {
    /// Watches the process with this number.
    ///
    /// # Errors
    /// There is none.
    pub fn new(process: u32) -> Result<Self> {
        let failed =
            |error: rustix::io::Errno| OsError::new(format!("watch process {process}"), error);
        let number = i32::try_from(process).ok().and_then(Pid::from_raw);
        let number = number.ok_or_else(|| failed(rustix::io::Errno::SRCH))?;
        Ok(Self(
            pidfd_open(number, PidfdFlags::empty()).map_err(failed)?,
        ))
    }

    /// Watches this process; none where it has ended, or its number means nothing here.
    pub fn of(process: &Identity) -> Option<Self> {
        let watch = Self::new(process.process()).ok();
        watch.filter(|_| process.is_of_own_namespace() && process.is_alive())
    }

    /// What becomes readable.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The number of the user that this process runs as.
pub fn own_user() -> u32 {
    getuid().as_raw()
}

/// The command that a process runs, as the kernel has it: at most 15 bytes, with `?` for what is not printable ASCII.
pub fn command_name(process: u32) -> Option<String> {
    let name = std::fs::read(format!("/proc/{process}/comm")).ok()?;
    let name = name.strip_suffix(b"\n").unwrap_or(&name);
    let printable = |byte: &u8| match byte {
        b' '..=b'~' => char::from(*byte),
        _ => '?',
    };
    Some(name.iter().map(printable).collect())
}

/// Leaves the terminal, and the process group of the process that started this one: their signals do not concern it.
///
/// # Errors
/// This process leads a group already.
pub fn leave_terminal() -> Result<()> {
    rustix::process::setsid()
        .map(|_| ())
        .map_err(|error| OsError::new("leave the terminal", error))
}

/// Ends this process at once with `message` on standard error: nothing of the program runs any more.
pub fn end_now(message: &str, code: i32) -> ! {
    let text = format!("{message}\n");
    // SAFETY: writes bytes that live long enough; the process ends without running anything.
    unsafe {
        let _ = libc::write(2, text.as_ptr().cast(), text.len());
        libc::_exit(code)
    }
}

/// Signals of this thread wait until it is dropped.
#[derive(Debug)]
pub struct SignalsHeld(libc::sigset_t);

impl SignalsHeld {
    /// From now on.
    #[expect(clippy::new_without_default, reason = "it changes the thread")]
    pub fn new() -> Self {
        // SAFETY: sets of bits that the calls fill; then one is this thread's mask and the other the former one.
        unsafe {
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            Self(before)
        }
    }
}

impl Drop for SignalsHeld {
    fn drop(&mut self) {
        // SAFETY: the mask that this thread had.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut())
        };
    }
}

/// From now on, signals go to other threads than this one.
pub fn refuse_signals() {
    // SAFETY: a set of bits that the next call fills; then it is this thread's mask.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
}

/// Whether this thread runs before all others of its processor that are not of this kind. It takes a privilege to begin with it.
///
/// # Errors
/// This user may not.
pub fn set_precedence(comes_first: bool) -> std::io::Result<()> {
    let parameter = libc::sched_param {
        sched_priority: i32::from(comes_first),
    };
    let policy = match comes_first {
        true => libc::SCHED_FIFO,
        false => libc::SCHED_OTHER,
    };
    // SAFETY: reads the parameter and changes how the calling thread is scheduled, nothing in memory.
    match unsafe { libc::sched_setscheduler(0, policy, &parameter) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
