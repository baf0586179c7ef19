//! What the program wants done about `SIGSEGV`. The fault handler has to stay in place once it is installed, so the shims
//! export `sigaction` and `signal` before the C library does, and both end here.
//!
//! Everything may be called in a signal handler: atomics, and functions of the C library that may be too.

use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};

type Sigaction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
type Signal = unsafe extern "C" fn(c_int, usize) -> usize;
type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Signals are numbered from 1 to 64.
const MASK_BITS: c_int = 64;

static INSTALLED: AtomicBool = AtomicBool::new(false);

/// The program's own action.
static HANDLER: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);
static FLAGS: AtomicI32 = AtomicI32::new(0);
static MASK: AtomicU64 = AtomicU64::new(0);

/// Puts `handler` in the place of the program's, which is from then on [`call_program`].
///
/// # Errors
/// Those of `sigaction`.
pub(super) fn install(handler: Handler) -> io::Result<()> {
    if INSTALLED.load(Ordering::Acquire) {
        return Ok(());
    }
    let mut previous = MaybeUninit::<libc::sigaction>::uninit();
    let action = action_of(
        handler as *const () as usize,
        libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER,
        0,
    );
    // SAFETY: the handler has the signature that SA_SIGINFO asks for; there is room for the previous action.
    if unsafe { real_sigaction(libc::SIGSEGV, &raw const action, previous.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the successful call has filled it.
    keep(&unsafe { previous.assume_init() });
    INSTALLED.store(true, Ordering::Release);
    Ok(())
}

/// Does what would have happened without us.
pub(super) fn call_program(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let handler = HANDLER.load(Ordering::Acquire);
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        // The fault happens again when we return, and then takes the program as it would have.
        INSTALLED.store(false, Ordering::Release);
        let default = action_of(libc::SIG_DFL, 0, 0);
        // SAFETY: the default action needs no handler.
        unsafe { real_sigaction(signal, &raw const default, std::ptr::null_mut()) };
        return;
    }
    if FLAGS.load(Ordering::Acquire) & libc::SA_RESETHAND != 0 {
        HANDLER.store(libc::SIG_DFL, Ordering::Release);
    }
    // SAFETY: the program installed this address as a handler. One without SA_SIGINFO has the first of these parameters,
    // and in the calling conventions of x86-64 and AArch64 does not see the others.
    let handler = unsafe { std::mem::transmute::<usize, Handler>(handler) };
    handler(signal, info, context);
}

fn action_of(handler: usize, flags: c_int, mask: u64) -> libc::sigaction {
    // SAFETY: all fields are numbers, a set of bits, or an optional function.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    for signal in (1..=MASK_BITS).filter(|signal| mask >> (signal - 1) & 1 != 0) {
        // SAFETY: the set is part of the action.
        unsafe { libc::sigaddset(&raw mut action.sa_mask, signal) };
    }
    action
}

fn keep(action: &libc::sigaction) {
    let is_member = |signal: &c_int| {
        // SAFETY: the set is part of the action.
        unsafe { libc::sigismember(&raw const action.sa_mask, *signal) == 1 }
    };
    let members = (1..=MASK_BITS).filter(is_member);
    let mask = members.fold(0, |mask, signal| mask | 1 << (signal - 1));
    MASK.store(mask, Ordering::Release);
    FLAGS.store(action.sa_flags, Ordering::Release);
    HANDLER.store(action.sa_sigaction, Ordering::Release);
}

/// Whether an action for `signal` is only noted.
fn is_ours(signal: c_int) -> bool {
    signal == libc::SIGSEGV && INSTALLED.load(Ordering::Acquire)
}

/// # Safety
/// The contract of `sigaction`, which the shims call it as.
#[unsafe(no_mangle)]
unsafe extern "C" fn pagemill_sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    if !is_ours(signal) {
        // SAFETY: the caller's arguments go through as they are.
        return unsafe { real_sigaction(signal, new, old) };
    }
    let current = action_of(
        HANDLER.load(Ordering::Acquire),
        FLAGS.load(Ordering::Acquire),
        MASK.load(Ordering::Acquire),
    );
    if !new.is_null() {
        // SAFETY: it is not null, and so the action that the program asks for, which it does not change during the call.
        keep(unsafe { &*new });
    }
    if !old.is_null() {
        // SAFETY: it is not null, and so room of the program for an action, which no other thread uses during the call.
        unsafe { old.write(current) };
    }
    0
}

/// # Safety
/// The contract of `signal`, which the shims call it as.
#[unsafe(no_mangle)]
unsafe extern "C" fn pagemill_signal(signal: c_int, handler: usize) -> usize {
    if is_ours(signal) {
        let old = HANDLER.load(Ordering::Acquire);
        keep(&action_of(handler, libc::SA_RESTART, 1 << (signal - 1)));
        return old;
    }
    static REAL: AtomicUsize = AtomicUsize::new(0);
    match of_the_c_library(&REAL, c"signal") {
        0 => libc::SIG_ERR,
        // SAFETY: the function of this name has this signature.
        real => unsafe { std::mem::transmute::<usize, Signal>(real)(signal, handler) },
    }
}

/// # Safety
/// The contract of `sigaction`.
unsafe fn real_sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    match of_the_c_library(&REAL, c"sigaction") {
        0 => -1,
        // SAFETY: the function of this name has this signature; the arguments are the caller's.
        real => unsafe { std::mem::transmute::<usize, Sigaction>(real)(signal, new, old) },
    }
}

/// A function of the C library itself, where a plain call would find the shim's; 0 if there is none.
fn of_the_c_library(known: &AtomicUsize, name: &CStr) -> usize {
    let found = known.load(Ordering::Acquire);
    if found != 0 {
        return found;
    }
    // SAFETY: both get strings that end with a NUL; the library is loaded already and stays.
    let found = unsafe {
        let library = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if library.is_null() {
            return 0;
        }
        libc::dlsym(library, name.as_ptr()) as usize
    };
    known.store(found, Ordering::Release);
    found
}
