//! The allocator has a few locks on rare paths and no fork handlers. A child of a threaded program must not inherit a lock that a thread
//! held which it does not have: while a process is copied, no thread is inside of one.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

unsafe extern "C" {
    fn __real_pthread_mutex_lock(mutex: *mut libc::pthread_mutex_t) -> c_int;
    fn __real_pthread_mutex_trylock(mutex: *mut libc::pthread_mutex_t) -> c_int;
    fn __real_pthread_mutex_unlock(mutex: *mut libc::pthread_mutex_t) -> c_int;
}

/// Threads that hold a lock of the allocator, or wait for one.
static INSIDE: AtomicU32 = AtomicU32::new(0);
static IS_FORKING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Locks that this thread holds. Who holds one gets the next without asking, or would wait for itself.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

// SAFETY: the linker leads the allocator's calls here; same contract.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_pthread_mutex_lock(mutex: *mut libc::pthread_mutex_t) -> c_int {
    enter();
    // SAFETY: the allocator passes a mutex of its own, which it has initialized.
    unsafe { __real_pthread_mutex_lock(mutex) }
}

// SAFETY: the linker leads the allocator's calls here; same contract.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_pthread_mutex_trylock(mutex: *mut libc::pthread_mutex_t) -> c_int {
    enter();
    // SAFETY: the allocator passes a mutex of its own, which it has initialized.
    let result = unsafe { __real_pthread_mutex_trylock(mutex) };
    if result != 0 {
        leave();
    }
    result
}

// SAFETY: the linker leads the allocator's calls here; same contract.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_pthread_mutex_unlock(mutex: *mut libc::pthread_mutex_t) -> c_int {
    // SAFETY: the allocator has locked this mutex of its own on this thread.
    let result = unsafe { __real_pthread_mutex_unlock(mutex) };
    leave();
    result
}

fn leave() {
    let held = HELD.get() - 1;
    HELD.set(held);
    if held == 0 {
        INSIDE.fetch_sub(1, Ordering::SeqCst);
    }
}

fn enter() {
    let held = HELD.get();
    HELD.set(held + 1);
    if held > 0 {
        return;
    }
    loop {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        if !IS_FORKING.load(Ordering::SeqCst) {
            return;
        }
        INSIDE.fetch_sub(1, Ordering::SeqCst);
        std::thread::yield_now();
    }
}

/// Right before a process is copied, by a thread that is in no lock of the allocator.
pub fn before() {
    while IS_FORKING.swap(true, Ordering::SeqCst) {
        std::thread::yield_now();
    }
    while INSIDE.load(Ordering::SeqCst) != 0 {
        std::thread::yield_now();
    }
}

/// Right after, on the same thread or on its copy, the only thread of the child.
pub fn after(is_child: bool) {
    if is_child {
        // A thread that knocked at the moment of the copy is not here to leave again.
        INSIDE.store(0, Ordering::SeqCst);
    }
    IS_FORKING.store(false, Ordering::SeqCst);
}
