//! What this thread of a rank has executed, in a rank that QEMU runs.

use std::cell::Cell;
use std::os::fd::RawFd;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use pagemill_linux::process::end_now;

use super::{SLOTS, Slots};

static COUNTS: OnceLock<&'static Slots> = OnceLock::new();

thread_local! {
    /// This thread's place, and its count at the last call.
    static OWN: Cell<Option<(usize, u64)>> = const { Cell::new(None) };
}

/// The counts of a descriptor, in the memory of this process for as long as it lives.
///
/// # Errors
/// What the kernel says.
pub(super) fn map(counts: RawFd) -> std::io::Result<&'static Slots> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, which nothing else has.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size_of::<Slots>(),
            protection,
            libc::MAP_SHARED,
            counts,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the mapping has the size of the slots, which are atomic words, and it is never taken away.
    Ok(unsafe { &*memory.cast::<Slots>() })
}

/// Takes the counts of a descriptor, if they are those of this process. Where the variable is an ancestor's, the descriptor is closed, or
/// nothing counts there: some shells keep variables that were taken away before their `main`.
pub(super) fn open(counts: RawFd) -> bool {
    // SAFETY: a structure of numbers, for which zero is a value.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `status` has room for the answer.
    let is_there = unsafe { libc::fstat(counts, &raw mut status) } == 0;
    if !is_there || status.st_size != size_of::<Slots>() as libc::off_t {
        return false;
    }
    let Ok(slots) = map(counts) else {
        return false;
    };
    let Some(place) = place_of_this_thread(slots) else {
        return false;
    };
    let uncounted = || slots[place].executed[1].load(Ordering::Relaxed);
    let before = uncounted();
    // A call of the kernel ends a block of instructions, and the next one is counted.
    let _ = rustix::thread::gettid();
    if uncounted() == before {
        return false;
    }
    // SAFETY: the descriptor is this library's, and no longer needed.
    unsafe { libc::close(counts) };
    COUNTS.set(slots).is_ok()
}

/// Instructions of the program that the calling thread executed since its last call of this; 0 at the first, and where none are counted.
pub fn since_last_call() -> u64 {
    let Some(slots) = COUNTS.get() else {
        return 0;
    };
    let (place, before) = match OWN.get() {
        Some(own) => own,
        None => {
            let place = place_of_this_thread(slots).unwrap_or_else(|| end_for_threads());
            (place, executed(slots, place))
        }
    };
    let now = executed(slots, place);
    OWN.set(Some((place, now)));
    now - before
}

fn executed(slots: &Slots, place: usize) -> u64 {
    slots[place].executed[0].load(Ordering::Relaxed)
}

fn place_of_this_thread(slots: &Slots) -> Option<usize> {
    let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let is_own = |slot: &super::Slot| slot.thread.load(Ordering::Relaxed) == thread;
    slots.iter().position(is_own)
}

fn end_for_threads() -> ! {
    end_now(
        &format!(
            "pagemill mpi: a rank has more threads than the {SLOTS} whose instructions are counted"
        ),
        1,
    )
}
