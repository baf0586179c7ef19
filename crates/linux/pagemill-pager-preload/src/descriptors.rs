//! Descriptors of the pager: a program that closes what it did not open does not close these. Without them, memory would read as zeros.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use pagemill_mapping::kernel::{Answer, for_c};
use pagemill_mapping::{Call, references};

use crate::callers::is_library;
use crate::paged::become_plain;
use crate::threads;

/// As many descriptors as Linux lets a process have by default.
const COUNT: usize = 1 << 20;

/// A bit for each descriptor of the pager. `close` may be called in signal handlers, so there is no lock.
static KEPT: [AtomicU64; COUNT / 64] = [const { AtomicU64::new(0) }; COUNT / 64];

/// Keeps the descriptors that `start` opens, beside those that it leaves of what was kept. No other thread of the program runs meanwhile.
pub fn keep_new<T>(start: impl FnOnce() -> T) -> T {
    let mut others = open_ones();
    others.retain(|&number| !is_kept(number));
    keep_none();
    let started = start();
    for new in open_ones().into_iter().filter(|new| !others.contains(new)) {
        if let Some(word) = KEPT.get(new / 64) {
            word.fetch_or(1 << (new % 64), Ordering::Relaxed);
        }
    }
    started
}

fn open_ones() -> Vec<usize> {
    let entries = std::fs::read_dir("/proc/self/fd");
    let names = entries.into_iter().flatten().flatten();
    let mut open: Vec<usize> = names
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    // The folder's own is closed by now.
    // SAFETY: the call reads a number's flags.
    open.retain(|&number| unsafe { libc::fcntl(number as c_int, libc::F_GETFD) } >= 0);
    open
}

fn is_kept(number: usize) -> bool {
    let word = KEPT.get(number / 64);
    word.is_some_and(|word| word.load(Ordering::Relaxed) >> (number % 64) & 1 == 1)
}

/// `close`, with the address that it returns to.
pub extern "C" fn close_for(number: u32, caller: usize) -> c_int {
    let call = Call::new(libc::SYS_close, [number as usize]);
    if is_library(caller)
        && let Some(word) = KEPT.get(number as usize / 64)
    {
        word.fetch_and(!(1 << (number % 64)), Ordering::Relaxed);
    }
    // SAFETY: the caller gives the descriptor up.
    for_c(unsafe { answer(&call) }) as c_int
}

/// Answers `close`, `close_range`, `dup2`, `dup3`, `unshare`, `setns`, `seccomp`, `prctl` and `setrlimit` as if the pager had no descriptors.
///
/// # Safety
/// As the call itself.
pub unsafe fn answer(call: &Call) -> Answer {
    // The kernel takes the lower half of each.
    let [first, second, flags, ..] = call.arguments.map(|argument| argument as u32 as usize);
    match call.number {
        libc::SYS_unshare | libc::SYS_setns => alone(call),
        // Without a filter, it only asks whether there are filters.
        libc::SYS_seccomp => filtered(
            call,
            first == libc::SECCOMP_SET_MODE_STRICT as usize
                || first == libc::SECCOMP_SET_MODE_FILTER as usize && call.arguments[2] != 0,
        ),
        libc::SYS_prctl => filtered(
            call,
            first == libc::PR_SET_SECCOMP as usize
                && (second != libc::SECCOMP_MODE_FILTER as usize || call.arguments[2] != 0),
        ),
        libc::SYS_setrlimit => limited(call, first, call.arguments[1]),
        libc::SYS_prlimit64 => limited(call, second, call.arguments[2]),
        // SAFETY: the program gives up the descriptors of the range; those that are kept are left out.
        libc::SYS_close_range => unsafe { close_range(first, second, flags) },
        _ if is_kept(first) => -(libc::EBADF as Answer),
        libc::SYS_close => perform(call),
        _ if is_kept(second) => replace(call),
        _ => perform(call),
    }
}

/// A program puts a descriptor of its own in the place of one of the pager, which then needs none.
fn replace(call: &Call) -> Answer {
    if let Err(error) = become_plain("a process that replaces descriptors of the pager") {
        return -(error as Answer);
    }
    keep_none();
    perform(call)
}

fn keep_none() {
    KEPT.iter()
        .for_each(|word| word.store(0, Ordering::Relaxed));
}

fn perform(call: &Call) -> Answer {
    // SAFETY: none of its descriptors is the pager's, and the program asks for the call.
    unsafe { call.perform() }
}

/// A call that the kernel refuses while there are threads: those of the pager do not count.
fn alone(call: &Call) -> Answer {
    const TRIES: u32 = 200;
    let mut answer = perform(call);
    let is_refused = |answer: Answer| answer == -(libc::EINVAL as Answer);
    if !is_refused(answer) || become_plain("a process of this kind").is_err() {
        return answer;
    }
    // The kernel counts a thread for a moment after its end.
    for _ in 0..TRIES {
        answer = perform(call);
        if !is_refused(answer) || threads::is_alone() == Some(false) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    answer
}

/// What is kept of pages that are away takes addresses, too.
fn limited(call: &Call, resource: usize, limit: usize) -> Answer {
    let is_of_addresses = [libc::RLIMIT_AS, libc::RLIMIT_DATA].contains(&(resource as _));
    let soft = is_of_addresses
        .then(|| references::read::<u64>(limit))
        .flatten();
    if soft.is_some_and(|soft| soft != libc::RLIM_INFINITY)
        && let Err(error) = become_plain("a process with a limit of its addresses")
    {
        return -(error as Answer);
    }
    perform(call)
}

/// A thread with a filter may not be able to page: it could not even give its memory back.
fn filtered(call: &Call, sets_filter: bool) -> Answer {
    if sets_filter && let Err(error) = become_plain("a process with this filter") {
        return -(error as Answer);
    }
    perform(call)
}

/// Closes what is between the descriptors of the pager.
///
/// # Safety
/// As the call itself.
unsafe fn close_range(first: usize, last: usize, flags: usize) -> Answer {
    let close = |first: usize, last: usize| {
        perform(&Call::new(libc::SYS_close_range, [first, last, flags]))
    };
    let mut from = first;
    for number in (first..=last.min(COUNT - 1)).filter(|&number| is_kept(number)) {
        if from < number {
            let answer = close(from, number - 1);
            if answer != 0 {
                return answer;
            }
        }
        from = number + 1;
    }
    match from > last && from > first {
        true => 0,
        false => close(from, last),
    }
}
