//! The thread that answers page faults of managed memory.

use std::sync::OnceLock;

use pagemill_linux::userfault::FaultWatch;

use super::BASE;

/// With the value `signal`, touches are seen by a signal handler whatever the system allows.
const ENVIRONMENT: &str = "PAGEMILL_CUDA_FAULTS";

/// All addresses that managed memory can have.
const WHOLE: std::ops::Range<u64> = BASE..BASE + (1 << 44);

/// The watch of this process, whose thread calls `touched` with the address of each touch and expects the granule to be
/// open then; `None` where the system does not allow it.
///
/// A child of `fork` has the memory without the watch: its touches are not seen.
pub(super) fn get(touched: fn(u64) -> bool) -> Option<&'static FaultWatch> {
    static WATCH: OnceLock<Option<&'static FaultWatch>> = OnceLock::new();
    *WATCH.get_or_init(|| start(touched))
}

fn start(touched: fn(u64) -> bool) -> Option<&'static FaultWatch> {
    if std::env::var_os(ENVIRONMENT).is_some_and(|value| value == "signal") {
        return None;
    }
    let watch: &'static FaultWatch = Box::leak(Box::new(FaultWatch::open().ok()?));
    let answer = move || {
        refuse_signals();
        while let Ok(address) = watch.next_touch() {
            if !touched(address) {
                // A thread waits for a page that is gone, or cannot be opened alone: open all rather than hang.
                let _ = watch.release(WHOLE);
            }
        }
    };
    let thread = std::thread::Builder::new().name("pagemill-faults".to_owned());
    thread.spawn(answer).ok().map(|_| watch)
}

/// Signals are for the program's own threads.
pub(crate) fn refuse_signals() {
    // SAFETY: a set of bits that the next call fills; then it is this thread's mask.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
}
