//! Signals that are handed on: one that is sent to the process that started a program is meant for the program.

use std::ffi::{c_int, c_void};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

/// What users, shells and service managers send to programs. What a terminal sends reaches the program by itself.
const HANDED_ON: [c_int; 6] = [
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

const ENDING: [c_int; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

/// `SI_KERNEL` of asm-generic/siginfo.h: a terminal's signal, which all of its group get.
const OF_KERNEL: c_int = 0x80;

/// Descriptor of the program that runs; none below 0.
static PROGRAM: AtomicI32 = AtomicI32::new(-1);
/// The process that hands on, not a child of it that becomes the program.
static OWN: AtomicI32 = AtomicI32::new(0);
/// A bit for each signal that came before the program ran.
static EARLY: AtomicU64 = AtomicU64::new(0);
/// A bit for each signal that this process ignored before: so does the program at its start.
static IGNORED: AtomicU64 = AtomicU64::new(0);
static IS_ASKED_TO_END: AtomicBool = AtomicBool::new(false);

/// Until it is dropped, signals to this process go to the program of [`crate::children`] that runs. For one program at a time.
#[derive(Debug)]
pub struct Relay {
    before: Vec<(c_int, Handler)>,
}

/// What a signal did before.
struct Handler(libc::sigaction);

impl std::fmt::Debug for Handler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Handler")
    }
}

impl Relay {
    /// From now on. Where this process ignores a signal, the program may have a handler for it.
    #[expect(clippy::new_without_default, reason = "it changes the process")]
    pub fn new() -> Self {
        OWN.store(own_number(), Ordering::SeqCst);
        EARLY.store(0, Ordering::SeqCst);
        IGNORED.store(0, Ordering::SeqCst);
        IS_ASKED_TO_END.store(false, Ordering::SeqCst);
        let before = HANDED_ON
            .iter()
            .filter_map(|&signal| Some((signal, take_over(signal)?)));
        Self {
            before: before.collect(),
        }
    }

    /// Whether this process was asked to end.
    pub fn is_asked_to_end(&self) -> bool {
        IS_ASKED_TO_END.load(Ordering::SeqCst)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        IGNORED.store(0, Ordering::SeqCst);
        for (signal, handler) in &self.before {
            // SAFETY: what the signal did before.
            unsafe { libc::sigaction(*signal, &raw const handler.0, std::ptr::null_mut()) };
        }
    }
}

/// Between fork and exec: what this process ignored, the program ignores. Makes system calls alone.
pub(crate) fn ignore_as_before() {
    let ignored = IGNORED.load(Ordering::SeqCst);
    for signal in HANDED_ON {
        if ignored >> signal & 1 == 1 {
            // SAFETY: changes what a signal does in a process that is about to start a program.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
    }
}

/// The program runs. `program` stays open until [`ended`].
pub(crate) fn started(program: BorrowedFd<'_>) {
    PROGRAM.store(program.as_raw_fd(), Ordering::SeqCst);
    let early = EARLY.swap(0, Ordering::SeqCst);
    for signal in HANDED_ON {
        if early >> signal & 1 == 1 {
            send(program.as_raw_fd(), signal);
        }
    }
}

pub(crate) fn ended() {
    PROGRAM.store(-1, Ordering::SeqCst);
}

fn take_over(signal: c_int) -> Option<Handler> {
    // SAFETY: plain words that the kernel reads and fills; the handler makes system calls and touches atomics alone.
    unsafe {
        let (mut new, mut old): (libc::sigaction, libc::sigaction) =
            (std::mem::zeroed(), std::mem::zeroed());
        libc::sigaction(signal, std::ptr::null(), &raw mut old);
        if old.sa_sigaction == libc::SIG_IGN {
            IGNORED.fetch_or(1 << signal, Ordering::SeqCst);
        }
        new.sa_sigaction = hand_on as *const () as usize;
        new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        (libc::sigaction(signal, &raw const new, std::ptr::null_mut()) == 0).then_some(Handler(old))
    }
}

extern "C" fn hand_on(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    if own_number() != OWN.load(Ordering::SeqCst) {
        // A child that is about to become the program. The signal waits for the end of this handler.
        // SAFETY: both may be called in handlers.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        return;
    }
    if ENDING.contains(&signal) {
        IS_ASKED_TO_END.store(true, Ordering::SeqCst);
    }
    // SAFETY: the kernel's description of the signal.
    if unsafe { (*info).si_code } == OF_KERNEL {
        return;
    }
    match PROGRAM.load(Ordering::SeqCst) {
        program if program >= 0 => send(program, signal),
        _ => {
            EARLY.fetch_or(1 << signal, Ordering::SeqCst);
        }
    }
}

fn send(program: c_int, signal: c_int) {
    // SAFETY: the address of this thread's error number, and a call that touches no memory; a program that has ended is no harm.
    unsafe {
        let error = *libc::__errno_location();
        libc::syscall(libc::SYS_pidfd_send_signal, program, signal, 0, 0);
        *libc::__errno_location() = error;
    }
}

fn own_number() -> c_int {
    // SAFETY: returns a number.
    unsafe { libc::getpid() }
}
