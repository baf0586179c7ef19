//! What calls on memory mean to the pager, beside what they mean to `pagemill-mapping`.

use std::ffi::c_int;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use pagemill_linux::process::end_now;
use pagemill_mapping::call::has;
use pagemill_mapping::kernel::{self, Answer};
use pagemill_mapping::own::Own;
use pagemill_mapping::{Call, Kind, MemoryCalls};

use crate::allocator;
use crate::paged::{LENT, become_plain, pager};
use crate::{descriptors, threads};

/// The calls of this process.
pub static CALLS: Calls = Calls;

/// Forgets bytes that are about to be unmapped: a worker must not be moving a page while another mapping takes its address.
pub fn give_up(range: Range<usize>) {
    if let Some(pager) = pager() {
        let _own = Own::calls();
        pager.discard(range.start as u64..range.end as u64);
    }
}

/// Addresses of programs end here.
const ADDRESSES_END: usize = 1 << if cfg!(target_arch = "x86_64") { 47 } else { 48 };

/// Whether the program has sealed memory: then the kernel may refuse to unmap some.
static IS_SEALED: AtomicBool = AtomicBool::new(false);

/// Before a call that puts something in the place of `gone`. Where it may fail, bytes are not given up yet.
///
/// # Errors
/// The error number that the call fails with.
fn prepare_to_lose(call: &Call, gone: Range<usize>) -> Result<(), i32> {
    if !gone.start.is_multiple_of(4096) || gone.is_empty() || gone.end > ADDRESSES_END {
        // The kernel refuses.
        return Ok(());
    }
    match call.kind() {
        // It is refused for what is at its other place, or for what is sealed.
        Kind::Remap => return LENT.make_plain(gone),
        _ if IS_SEALED.load(Ordering::Relaxed) => return LENT.make_plain(gone),
        Kind::Map => try_elsewhere(call)?,
        _ => {}
    }
    give_up(gone);
    Ok(())
}

/// Whether the kernel would make such a mapping at all.
fn try_elsewhere(call: &Call) -> Result<(), i32> {
    let [_, bytes, access, flags, file, offset] = call.arguments;
    const LEFT_OUT: c_int = libc::MAP_FIXED | libc::MAP_POPULATE | libc::MAP_LOCKED;
    let flags = flags & !(LEFT_OUT as usize);
    let arguments = [0, bytes, access, flags, file, offset];
    // SAFETY: the kernel chooses free addresses, and the mapping is this function's alone.
    let answer = unsafe { kernel::perform(libc::SYS_mmap, arguments) };
    if kernel::has_failed(answer) {
        return Err(-answer as i32);
    }
    // SAFETY: it was just made, and has no user.
    unsafe { kernel::unmap(answer as usize, bytes) };
    Ok(())
}

/// A mapping that grows downwards, with room below it: between pieces of paged memory, it would have none.
fn with_room_below(call: &Call) -> Call {
    const ROOM_BYTES: usize = 64 << 20;
    let [start, bytes, _, flags, ..] = call.arguments;
    let mut placed = *call;
    let is_free = start == 0 && !has(flags, libc::MAP_FIXED);
    let all = bytes.checked_next_multiple_of(4096);
    let all = all.and_then(|bytes| bytes.checked_add(ROOM_BYTES));
    let Some(all) = all.filter(|_| is_free) else {
        return placed;
    };
    let access = libc::PROT_NONE as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    // SAFETY: the kernel chooses free addresses, and the mapping is this function's alone.
    let room = unsafe { kernel::perform(libc::SYS_mmap, [0, all, access, flags, usize::MAX, 0]) };
    if !kernel::has_failed(room) {
        // SAFETY: it was just made, and has no user.
        unsafe { kernel::unmap(room as usize, all) };
        placed.arguments[0] = room as usize + ROOM_BYTES;
    }
    placed
}

/// Makes all memory plain where a child could not answer its page faults.
fn become_plain_for_children() -> Result<(), i32> {
    match pager() {
        Some(pager) if !pager.can_be_inherited() => become_plain("a child of fork"),
        _ => Ok(()),
    }
}

/// Notifies the pager before its memory goes, and around each `fork`.
pub struct Calls;

impl MemoryCalls for Calls {
    unsafe fn answer(&self, call: &Call) -> Answer {
        if call.number == libc::SYS_mseal {
            IS_SEALED.store(true, Ordering::Relaxed);
        }
        let prepared = match call.replaces() {
            Some(gone) if LENT.is_near(&gone) => prepare_to_lose(call, gone),
            // The pager's own memory cannot be locked: it would have to fill by itself.
            _ if call.number == libc::SYS_mlockall => become_plain("a process that locks all"),
            // The kernel walks it when the thread ends, and skips what is away.
            _ if call.number == libc::SYS_set_robust_list => {
                become_plain("a thread with a list of its own for robust locks")
            }
            _ => Ok(()),
        };
        if let Err(error) = prepared {
            return -(error as Answer);
        }
        if call.makes_ring() {
            // SAFETY: the program has made this call; without a ring nothing is looked at.
            return unsafe { call.perform_and(|| become_plain("a process with an io_uring")) };
        }
        if call.kind() == Kind::Map && has(call.arguments[3], libc::MAP_GROWSDOWN) {
            // SAFETY: the program maps where there is room: the place is a wish, and nothing is given up.
            return unsafe { LENT.answer(&with_room_below(call)) };
        }
        // SAFETY: the program makes this call on memory of its own.
        unsafe { LENT.answer(call) }
    }

    fn make_plain(&self, range: Range<usize>) -> Result<(), i32> {
        LENT.make_plain(range)
    }

    unsafe fn answer_process(&self, call: &Call) -> Answer {
        // SAFETY: the program makes this call on its own descriptors, limits or namespaces.
        unsafe { descriptors::answer(call) }
    }

    fn before_end(&self, code: i32) {
        if pager().is_some() {
            threads::end_with_the_last(code);
        }
    }

    fn prepare_fork(&self) -> Result<(), i32> {
        become_plain_for_children()?;
        LENT.prepare_fork()
    }

    fn before_fork(&self) -> Result<(), i32> {
        become_plain_for_children()?;
        LENT.before_fork()?;
        if let Some(pager) = pager() {
            pager.before_fork();
        }
        allocator::hold();
        Ok(())
    }

    fn after_fork(&self, is_child: bool) {
        allocator::let_go();
        if let Some(pager) = pager() {
            if !is_child {
                pager.in_parent();
            } else if let Err(error) = descriptors::keep_new(|| pager.in_child()) {
                end_now(
                    &format!("pagemill pager: a forked child cannot go on: {error}"),
                    1,
                );
            }
        }
        LENT.after_fork(is_child);
    }
}
