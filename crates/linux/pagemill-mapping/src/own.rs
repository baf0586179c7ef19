//! Of each thread: whether the kernel delivers its calls ([`crate::dispatch`]), and which of them are this library's own.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::kernel;
use crate::lock::SYSTEM_CALL;

const ALLOW: u8 = 0;
const BLOCK: u8 = 1;

/// The C library's code, whose calls are not delivered: start and bytes.
static LIBRARY: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// What threads are armed with.
pub fn set_library(code: &Range<usize>) {
    LIBRARY[0].store(code.start, Ordering::Relaxed);
    LIBRARY[1].store(code.len(), Ordering::Relaxed);
}

thread_local! {
    /// The kernel reads it at each call from elsewhere.
    static SELECTOR: Cell<u8> = const { Cell::new(ALLOW) };
    static IS_ARMED: Cell<bool> = const { Cell::new(false) };
    /// Where answers are worked out: a program's alternative stack may be small.
    static STACK: OwnStack = const { OwnStack(Cell::new(0)) };
}

const STACK_BYTES: usize = 256 << 10;

struct OwnStack(Cell<usize>);

impl Drop for OwnStack {
    fn drop(&mut self) {
        if self.0.get() != 0 {
            // SAFETY: this thread ends, and runs on its own stack.
            unsafe { kernel::unmap(self.0.get(), STACK_BYTES) };
        }
    }
}

/// While this lives, calls of this thread are this library's own.
pub struct Own {
    before: u8,
}

impl Own {
    /// From now on.
    pub fn calls() -> Self {
        let before = SELECTOR.replace(ALLOW);
        Self { before }
    }

    /// Whether this is so, or a thread that is not armed.
    pub fn is_calling() -> bool {
        SELECTOR.get() == ALLOW
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        SELECTOR.set(self.before);
    }
}

/// After a fork. A child's calls are not delivered until its thread is armed.
pub fn after_fork(is_child: bool) {
    match (IS_ARMED.get(), is_child) {
        (true, true) => {
            arm();
        }
        (true, false) => SELECTOR.set(BLOCK),
        _ => {}
    }
}

/// Whether the kernel delivers calls of this thread.
pub fn is_armed() -> bool {
    IS_ARMED.get()
}

/// Has the kernel deliver calls of this thread; whether it does.
pub fn arm() -> bool {
    const DISPATCH: usize = 59;
    const ON: usize = 1;
    let [start, bytes] = LIBRARY.each_ref().map(|word| word.load(Ordering::Relaxed));
    STACK.with(|_| ());
    let selector = SELECTOR.with(Cell::as_ptr).addr();
    SELECTOR.set(ALLOW);
    let (unblocked, words) = (SYSTEM_CALL, size_of::<u64>());
    let arguments = [
        libc::SIG_UNBLOCK as usize,
        (&raw const unblocked).addr(),
        0,
        words,
        0,
        0,
    ];
    // SAFETY: the kernel reads a set of signals, and from now on a byte that lives as long as the thread.
    let armed = unsafe {
        kernel::perform(libc::SYS_rt_sigprocmask, arguments);
        kernel::perform(libc::SYS_prctl, [DISPATCH, ON, start, bytes, selector, 0])
    };
    IS_ARMED.set(armed == 0);
    SELECTOR.set(if armed == 0 { BLOCK } else { ALLOW });
    armed == 0
}

/// Where the stack of this thread's answers ends, if it has one.
pub fn own_stack() -> Option<usize> {
    STACK
        .try_with(|stack| {
            if stack.0.get() == 0 {
                stack.0.set(kernel::map_plain(STACK_BYTES).ok()?);
            }
            Some(stack.0.get() + STACK_BYTES)
        })
        .ok()?
}
