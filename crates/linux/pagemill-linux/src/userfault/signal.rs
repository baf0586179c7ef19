//! Faults that the faulting thread answers itself, in the handler of the signal that the kernel raises for them.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::PagedFault;
use super::paged::UNIT;
use crate::{OsError, Result};

/// Most answerers of a process at a time.
const PLACES: usize = 16;

/// Makes the memory of a fault present.
///
/// It runs in a signal handler: it must not touch paged memory, and must not wait for what the interrupted thread may hold.
pub trait Answer: Send + Sync {
    /// Answers a fault, or returns `false` if the memory is another's.
    fn answer(&self, fault: PagedFault) -> bool;
}

/// A place in the table that the signal handler reads, without a lock.
#[derive(Debug)]
struct Place {
    answer: AtomicPtr<Arc<dyn Answer>>,
    /// Threads that may be using it.
    users: AtomicU32,
}

static TABLE: [Place; PLACES] = [const {
    Place {
        answer: AtomicPtr::new(ptr::null_mut()),
        users: AtomicU32::new(0),
    }
}; PLACES];

/// What the process did at this signal before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// One thread installs the handler.
static INSTALLING: Mutex<()> = Mutex::new(());

/// Has faults of threads answered by the threads themselves, until it is dropped.
pub struct Answering {
    place: usize,
}

impl fmt::Debug for Answering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answering").finish_non_exhaustive()
    }
}

impl Answering {
    /// Faults of a [`Userfault`](super::Userfault) that was opened with [`open_for_signals`](super::Userfault::open_for_signals) go
    /// to `answer` from now on.
    ///
    /// # Errors
    /// The process has 16 of them, or the kernel refuses the signal handler.
    pub fn start(answer: Arc<dyn Answer>) -> Result<Self> {
        install()?;
        let boxed = Box::into_raw(Box::new(answer));
        let place = TABLE.iter().position(|place| {
            let order = (Ordering::SeqCst, Ordering::SeqCst);
            (place.answer)
                .compare_exchange(ptr::null_mut(), boxed, order.0, order.1)
                .is_ok()
        });
        place.map(|place| Self { place }).ok_or_else(|| {
            // SAFETY: it came from the box above, and no place has it.
            drop(unsafe { Box::from_raw(boxed) });
            let full = std::io::Error::other(format!("{PLACES} pagers of this process do so"));
            OsError::new("answer page faults in the faulting thread", full)
        })
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let place = &TABLE[self.place];
        let answer = place.answer.swap(ptr::null_mut(), Ordering::SeqCst);
        while place.users.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
        // SAFETY: it came from a box; the table has it no more, and no thread that read it there is left.
        drop(unsafe { Box::from_raw(answer) });
    }
}

impl Place {
    fn answer(&self, fault: PagedFault) -> bool {
        self.users.fetch_add(1, Ordering::SeqCst);
        let answer = self.answer.load(Ordering::SeqCst);
        // SAFETY: what the table names lives until `users` is zero.
        let is_answered = unsafe { answer.as_ref() }.is_some_and(|answer| answer.answer(fault));
        self.users.fetch_sub(1, Ordering::SeqCst);
        is_answered
    }
}

fn install() -> Result<()> {
    let _one = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    if BEFORE.get().is_some() {
        return Ok(());
    }
    let refused = || {
        let error = std::io::Error::last_os_error();
        Err(OsError::new("handle the signal SIGBUS", error))
    };
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the structure is filled below as the call wants it; zeros are valid for all its fields.
    unsafe {
        if libc::sigaction(libc::SIGBUS, ptr::null(), before.as_mut_ptr()) != 0 {
            return refused();
        }
        // The handler may run at once in another thread.
        let _ = BEFORE.set(before.assume_init());
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        // A handler of the program that touches paged memory must not run within the pager.
        libc::sigfillset(&mut action.sa_mask);
        if libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) != 0 {
            return refused();
        }
    }
    Ok(())
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel calls this with a valid `info` and `context`; the error number is this thread's.
    unsafe {
        let errno = *libc::__errno_location();
        let address = (*info).si_addr() as u64;
        let fault = PagedFault {
            address: address & !(UNIT - 1),
            is_write: is_write(context),
            thread: 0,
        };
        if !TABLE.iter().any(|place| place.answer(fault)) {
            pass_on(signal, info, context);
        }
        *libc::__errno_location() = errno;
    }
}

/// Does what the process did before at a signal that is no fault of paged memory.
///
/// # Safety
/// The arguments are those of a signal handler.
unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(before) = BEFORE.get() else { return };
    // SAFETY: a handler that the process had set is called as the kernel would. Otherwise the touch is repeated without a handler.
    unsafe {
        match before.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => {
                libc::signal(signal, libc::SIG_DFL);
            }
            handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                    std::mem::transmute(handler);
                handler(signal, info, context);
            }
            handler => {
                let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

/// Whether the touch was a write, where the processor's context says so.
///
/// # Safety
/// `context` is what a signal handler gets.
#[cfg(target_arch = "x86_64")]
unsafe fn is_write(context: *mut c_void) -> bool {
    const WRITE: i64 = 1 << 1;
    // SAFETY: the kernel passes a handler of three arguments the context of the thread, for the time of the handler.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    context.uc_mcontext.gregs[libc::REG_ERR as usize] & WRITE != 0
}

/// Whether the touch was a write: not known here.
///
/// # Safety
/// None.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn is_write(_context: *mut c_void) -> bool {
    false
}
