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

/// Takes the counts that QEMU was started with.
pub(super) fn open(counts: Option<RawFd>) {
    let mapped = counts.map(|counts| (map(counts), counts));
    let Some((Ok(slots), counts)) = mapped else {
        end_now("pagemill mpi: the counts of instructions cannot be read", 1);
    };
    // SAFETY: the descriptor is this library's, and no longer needed.
    unsafe { libc::close(counts) };
    let _ = COUNTS.set(slots);
}

/// Instructions of the program that the calling thread executed since its last call of this; 0 at the first, and where none are counted.
pub fn since_last_call() -> u64 {
    let Some(slots) = COUNTS.get() else {
        return 0;
    };
    let (place, before) = match OWN.get() {
        Some(own) => own,
        None => {
            let place = place_of_this_thread(slots);
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

fn place_of_this_thread(slots: &Slots) -> usize {
    let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let is_own = |slot: &super::Slot| slot.thread.load(Ordering::Relaxed) == thread;
    slots.iter().position(is_own).unwrap_or_else(|| {
        end_now(
            &format!("pagemill mpi: a rank has more threads than the {SLOTS} whose instructions are counted"),
            1,
        )
    })
}
