//! How the CPU's touch of a page that is on the GPU is seen: by a thread that answers page faults where the system allows
//! that, which sees the touches of system calls too, and by a signal handler elsewhere.
//!
//! Either opens the granule and notes it. Everything else waits for the next call of the runtime, because a touch may
//! come at any time, also while the runtime itself copies.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::BASE;
use super::bitmap::{BITS, Bitmap};
use super::signals;
use super::watch;

/// Granules that belong to a managed allocation.
static LIVE: Bitmap = Bitmap::unmapped();
/// Granules that the CPU has touched since [`take_touched`].
static TOUCHED: Bitmap = Bitmap::unmapped();
/// Granules whose first read opens them for reads alone.
static APART: Bitmap = Bitmap::unmapped();
/// Granules that are open for reads alone.
static READABLE: Bitmap = Bitmap::unmapped();
/// Those of [`TOUCHED`] that were open for reads, and were written to.
static WRITTEN: Bitmap = Bitmap::unmapped();
/// Touches that were not asked for yet.
static PENDING: AtomicBool = AtomicBool::new(false);
/// Where the first touches since [`take_places`] were.
static PLACES: [AtomicU64; PLACES_MAX] = [const { AtomicU64::new(0) }; PLACES_MAX];
static PLACE_COUNT: AtomicUsize = AtomicUsize::new(0);
const PLACES_MAX: usize = 1024;
static GRANULE_SHIFT: AtomicU32 = AtomicU32::new(12);

fn granule_of(address: u64) -> Option<u64> {
    let granule = address.checked_sub(BASE)? >> GRANULE_SHIFT.load(Ordering::Relaxed);
    (granule < BITS).then_some(granule)
}

fn granules(range: Range<u64>) -> Range<u64> {
    match (
        granule_of(range.start),
        granule_of(range.end.saturating_sub(1)),
    ) {
        (Some(first), Some(last)) => first..last + 1,
        _ => 0..0,
    }
}

/// From now on, faults in `range` are ours. Granules are `1 << granule_shift` bytes, the same in the whole process.
pub(super) fn adopt(range: Range<u64>, granule_shift: u32) -> io::Result<()> {
    GRANULE_SHIFT.store(granule_shift, Ordering::Relaxed);
    for bitmap in [&LIVE, &TOUCHED, &APART, &READABLE, &WRITTEN] {
        bitmap.map()?;
    }
    if watch::get(on_touch).is_none() {
        signals::install(on_fault)?;
    }
    for granule in granules(range) {
        // What is fresh belongs to the CPU.
        forget(granule);
        LIVE.set(granule, true);
    }
    Ok(())
}

/// Faults in `range` are ours no longer.
pub(super) fn abandon(range: Range<u64>) {
    for granule in granules(range) {
        forget(granule);
    }
}

fn forget(granule: u64) {
    for bitmap in [&LIVE, &TOUCHED, &APART, &READABLE, &WRITTEN] {
        bitmap.set(granule, false);
    }
}

/// What of a granule is closed to the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// All: the next touch opens it.
    All,
    /// All, until the next read opens it for reads alone.
    Apart,
    /// Writes: the next one opens it.
    Writes,
}

/// Closes `range` to the CPU, so that a touch is seen.
///
/// # Errors
/// When the kernel has no room for more differently protected ranges, or cannot see writes alone.
pub(crate) fn close(range: Range<u64>, closed: Closed) -> io::Result<()> {
    for granule in granules(range.clone()) {
        APART.set(granule, closed != Closed::All);
        READABLE.set(granule, closed == Closed::Writes);
    }
    if closed == Closed::Writes {
        return close_to_writes(range);
    }
    match watch::get(on_touch) {
        // SAFETY: the callers name granules of the CPU's views, which are shared mappings of memory files.
        Some(watch) => unsafe { watch.watch(range) },
        None => protect(range, libc::PROT_NONE),
    }
}

fn close_to_writes(range: Range<u64>) -> io::Result<()> {
    match watch::get(on_touch) {
        Some(watch) => watch.watch_writes(range),
        None => protect(range, libc::PROT_READ),
    }
}

/// Opens `range` to the CPU.
///
/// # Errors
/// When the kernel has no room for more differently protected ranges.
pub(crate) fn open(range: Range<u64>) -> io::Result<()> {
    match watch::get(on_touch) {
        Some(watch) => watch.release(range),
        None => protect(range, libc::PROT_READ | libc::PROT_WRITE),
    }
}

fn protect(range: Range<u64>, protection: libc::c_int) -> io::Result<()> {
    let bytes = (range.end - range.start) as usize;
    // SAFETY: the callers name parts of the CPU's views that `Views` mapped; whether those are open changes nothing for
    // Rust code, which uses the other view.
    let status = unsafe { libc::mprotect(range.start as *mut libc::c_void, bytes, protection) };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Whether there was a touch since the last call of [`expect_touches`].
pub(crate) fn any_touched() -> bool {
    PENDING.load(Ordering::Acquire)
}

/// Touches from now on count as new: for the runtime whose memory it is, before it takes those that were.
pub(crate) fn expect_touches() {
    // No look at what was touched may come before this is visible.
    PENDING.swap(false, Ordering::AcqRel);
}

/// Calls `seen` with the start of every granule in `range` that the CPU has touched since the last call, ascending, and with
/// what of it is closed still.
pub(crate) fn take_touched(range: Range<u64>, mut seen: impl FnMut(u64, Touched)) {
    let shift = GRANULE_SHIFT.load(Ordering::Relaxed);
    for granule in granules(range) {
        if TOUCHED.take(granule) {
            let touched = match (WRITTEN.take(granule), READABLE.get(granule)) {
                (true, _) => Touched::Written,
                (false, true) => Touched::Read,
                (false, false) => Touched::Somehow,
            };
            seen(BASE + (granule << shift), touched);
        }
    }
}

/// Addresses of the first touches since the last call, to the byte or to the page.
pub(crate) fn take_places() -> Vec<u64> {
    let count = PLACE_COUNT.swap(0, Ordering::AcqRel).min(PLACES_MAX);
    let places = PLACES[..count].iter();
    places.map(|place| place.load(Ordering::Relaxed)).collect()
}

/// How the CPU touched a granule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touched {
    /// It read or wrote; it may do both now.
    Somehow,
    /// It only read, and may read on.
    Read,
    /// It wrote, and may read or have read before.
    Written,
}

/// Opens the granule at `address`, which is noted before the thread that touched it can go on; whether it was one of ours.
fn on_touch(address: u64) -> bool {
    let Some(granule) = granule_of(address).filter(|&granule| LIVE.get(granule)) else {
        return false;
    };
    let shift = GRANULE_SHIFT.load(Ordering::Relaxed);
    let start = BASE + (granule << shift);
    let bytes = start..start + (1 << shift);
    let was_readable = READABLE.get(granule);
    let first = APART.get(granule) && !was_readable;
    // Whether it is a read shows when the touch is repeated.
    READABLE.set(granule, first);
    WRITTEN.set(granule, was_readable);
    TOUCHED.set(granule, true);
    if let Some(place) = PLACES.get(PLACE_COUNT.fetch_add(1, Ordering::Relaxed)) {
        place.store(address, Ordering::Relaxed);
    }
    PENDING.store(true, Ordering::Release);
    if first && close_to_writes(bytes.clone()).is_ok() {
        return true;
    }
    READABLE.set(granule, false);
    if open(bytes).is_err() {
        TOUCHED.set(granule, false);
        return false;
    }
    true
}

/// Only `mprotect` and atomics: both may be used in a signal handler.
extern "C" fn on_fault(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO a valid siginfo, which for SIGSEGV has an address.
    let address = unsafe { (*info).si_addr() } as u64;
    // SAFETY: reading and writing this thread's errno is always allowed; the interrupted code must not see ours.
    let errno = unsafe { *libc::__errno_location() };
    let opened = on_touch(address);
    // SAFETY: this thread's errno again, to what the interrupted code had.
    unsafe { *libc::__errno_location() = errno };
    if opened {
        return;
    }
    signals::call_program(signal, info, context);
}
