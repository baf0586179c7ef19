use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tries before a waiter gives its core away.
const SPINS: u32 = 64;

/// Times a waiter gives its core away before it asks whether the holder still lives.
const YIELDS: u32 = 4096;

/// The board's lock, held. Free is 0, otherwise the word is the holder's process id.
pub struct Guard {
    word: &'static AtomicU64,
}

impl Guard {
    pub(super) fn take(word: &'static AtomicU64) -> Self {
        let own = own_process();
        let mut tries = 0_u32;
        loop {
            match word.compare_exchange_weak(0, own, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Self { word },
                Err(holder) => wait(word, holder, &mut tries),
            }
        }
    }
}

/// This process' id, which glibc does not remember. A child that uses the board without `exec` takes locks in its parent's name.
fn own_process() -> u64 {
    static OWN: OnceLock<u64> = OnceLock::new();
    *OWN.get_or_init(|| u64::from(std::process::id()))
}

/// Waits a moment. The lock of a holder that was killed is taken from it.
fn wait(word: &AtomicU64, holder: u64, tries: &mut u32) {
    *tries += 1;
    if !tries.is_multiple_of(SPINS) {
        return std::hint::spin_loop();
    }
    if tries.is_multiple_of(SPINS * YIELDS) && holder != 0 && !is_alive(holder) {
        // If another waiter is quicker, this does nothing.
        let _ = word.compare_exchange(holder, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
    std::thread::yield_now();
}

/// Whether there is a process of this number. When in doubt, there is.
pub(super) fn is_alive(process: u64) -> bool {
    let Some(process) = i32::try_from(process)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    else {
        return false;
    };
    !matches!(
        rustix::process::test_kill_process(process),
        Err(rustix::io::Errno::SRCH)
    )
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.word.store(0, Ordering::Release);
    }
}
