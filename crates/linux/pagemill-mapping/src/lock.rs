//! A lock that a forked child can release: the C library's and Rust's belong to a thread, or cannot be released without their guard.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::kernel;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const AWAITED: u32 = 2;

/// A lock without an owner. A forked child may release what its parent took.
#[derive(Debug, Default)]
pub struct Lock {
    word: AtomicU32,
}

impl Lock {
    /// It is free.
    pub const fn new() -> Self {
        Self {
            word: AtomicU32::new(FREE),
        }
    }

    /// Waits until it is free, and takes it.
    pub fn take(&self) {
        let word = &self.word;
        if word
            .compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
        {
            return;
        }
        while word.swap(AWAITED, Ordering::Acquire) != FREE {
            self.futex(libc::FUTEX_WAIT, AWAITED);
        }
    }

    /// Frees it, by whatever thread.
    pub fn release(&self) {
        if self.word.swap(FREE, Ordering::Release) == AWAITED {
            self.futex(libc::FUTEX_WAKE, 1);
        }
    }

    /// Takes it from a thread that is not in this process. Whether it was free.
    pub fn take_over(&self) -> bool {
        self.word.swap(TAKEN, Ordering::Acquire) == FREE
    }

    fn futex(&self, operation: i32, value: u32) {
        let operation = (operation | libc::FUTEX_PRIVATE_FLAG) as usize;
        let arguments = [
            self.word.as_ptr().addr(),
            operation,
            value as usize,
            0,
            0,
            0,
        ];
        // SAFETY: the word lives as long as the process; a null timeout waits for as long as it takes.
        unsafe { kernel::perform(libc::SYS_futex, arguments) };
    }
}

/// The bit of `SIGSYS` in the kernel's set of signals: it has to arrive, or the kernel ends the process ([`crate::dispatch`]).
pub(crate) const SYSTEM_CALL: u64 = 1 << (libc::SIGSYS - 1);

/// Keeps signal handlers of this thread out: one that allocates would find the lock taken by itself.
pub struct SignalsBlocked {
    before: u64,
}

impl SignalsBlocked {
    pub fn new() -> Self {
        let mut before = 0;
        set_mask(libc::SIG_BLOCK, &!SYSTEM_CALL, Some(&mut before));
        Self { before }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        set_mask(libc::SIG_SETMASK, &self.before, None);
    }
}

fn set_mask(how: i32, mask: &u64, before: Option<&mut u64>) {
    let mask: *const u64 = mask;
    let before = before.map_or(0, |before| std::ptr::from_mut(before).addr());
    let arguments = [how as usize, mask.addr(), before, size_of::<u64>(), 0, 0];
    // SAFETY: the kernel reads one mask and writes the other, both of 64 signals.
    unsafe { kernel::perform(libc::SYS_rt_sigprocmask, arguments) };
}
