//! Ordinary private memory in the place of lent memory.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

use pagemill_linux::write_protection::WriteProtection;

use crate::kernel::{self, has_failed};

/// Where the kernel has huge pages, memory is copied and skipped in pieces of this size.
const PIECE_BYTES: usize = 2 << 20;

/// Writers cannot be held up: there are several threads, and no userfaultfd.
pub const WRITERS_RUN: i32 = libc::EBUSY;

/// Has the kernel give a part to children of `fork`, or not; whether it does so.
pub fn set_inherited(part: &Range<usize>, is_inherited: bool) -> bool {
    let advice = match is_inherited {
        true => libc::MADV_DOFORK,
        false => libc::MADV_DONTFORK,
    };
    // SAFETY: the advice leaves the bytes as they are.
    !has_failed(unsafe { kernel::advise(part.start, part.len(), advice) })
}

/// Copies `extent` to private memory and swaps that in. Threads that write meanwhile wait in the kernel, and go on in the copy: no
/// write is lost, and none is seen by who maps the memory that was there.
///
/// # Errors
/// [`WRITERS_RUN`], or there is no memory.
pub fn copy_out(extent: Range<usize>) -> Result<(), i32> {
    let hold = WriteProtection::new(extent.start as u64..extent.end as u64);
    if hold.is_err() && !is_only_thread() {
        return Err(WRITERS_RUN);
    }
    let copy = copy_of(&extent)?;
    // Dropped after this: who waited finds the copy.
    put_in_place(copy, extent)
}

/// A copy of lent memory, elsewhere.
///
/// # Errors
/// There is no memory.
pub fn copy_of(extent: &Range<usize>) -> Result<usize, i32> {
    let bytes = extent.len();
    let copy = map_aligned(bytes)?;
    // SAFETY: the copy is mapped, fresh, and ours. Without huge pages it does nothing.
    unsafe { kernel::advise(copy, bytes, libc::MADV_HUGEPAGE) };
    let mut is_touched = false;
    for offset in (0..bytes).step_by(PIECE_BYTES) {
        let piece_bytes = PIECE_BYTES.min(bytes - offset);
        let source: *const u8 = ptr::with_exposed_provenance(extent.start + offset);
        let target: *mut u8 = ptr::with_exposed_provenance_mut(copy + offset);
        // SAFETY: both pieces are mapped, and do not overlap. The source is lent memory, which is always readable.
        unsafe {
            if !is_zero(source, piece_bytes) {
                ptr::copy_nonoverlapping(source, target, piece_bytes);
                is_touched = true;
            }
        }
    }
    if !is_touched {
        touch(copy);
        // No page stays that the program has not touched.
        // SAFETY: the copy is ours, and reads as zero before and after.
        unsafe { kernel::advise(copy, PIECE_BYTES.min(bytes), libc::MADV_DONTNEED) };
    }
    Ok(copy)
}

/// Has the kernel connect fresh private memory with its own account of it (`anon_vma`). Parts of memory that were touched before they
/// had different protection become one mapping again afterwards; parts that were not may stay apart, and `mremap` fails across them.
pub fn touch(start: usize) {
    let start: *mut u8 = ptr::with_exposed_provenance_mut(start);
    // SAFETY: the memory is fresh, mapped and writable.
    unsafe { start.write_volatile(0) };
}

/// Moves a copy over the memory that it was made of.
///
/// # Errors
/// The kernel refuses; the copy is gone, and the memory as before.
pub fn put_in_place(copy: usize, extent: Range<usize>) -> Result<(), i32> {
    // SAFETY: the copy is ours; what it replaces has the same bytes, and nothing refers to its old place.
    let answer = unsafe { kernel::move_to(copy, extent.len(), extent.start) };
    if !has_failed(answer) {
        return Ok(());
    }
    discard_copy(copy, extent.len());
    Err(libc::ENOMEM)
}

/// Unmaps a copy that is not used.
pub fn discard_copy(copy: usize, bytes: usize) {
    // SAFETY: the copy is ours, and has no other user.
    unsafe { kernel::unmap(copy, bytes) };
}

/// Makes lent memory read as zero where it lies.
pub fn clear(part: Range<usize>) {
    let start: *mut u8 = ptr::with_exposed_provenance_mut(part.start);
    // SAFETY: lent memory is mapped and writable; its owner asks for it to be cleared.
    unsafe { start.write_bytes(0, part.len()) };
}

/// # Safety
/// `bytes` bytes are readable there; a multiple of 8, at an address that is one.
unsafe fn is_zero(start: *const u8, bytes: usize) -> bool {
    // Other threads may write: whatever they do, every word is read once, and the copy is made after they are held up.
    let words = start.cast::<u64>();
    // SAFETY: `start` has `bytes` bytes that are mapped and aligned to words; volatile, for the program may write there.
    (0..bytes / 8).all(|index| unsafe { words.add(index).read_volatile() } == 0)
}

/// Private memory that starts where a huge page may.
fn map_aligned(bytes: usize) -> Result<usize, i32> {
    let room = bytes.checked_add(PIECE_BYTES).ok_or(libc::ENOMEM)?;
    let start = kernel::map_plain(room)?;
    let aligned = start.next_multiple_of(PIECE_BYTES);
    let (before, after) = (aligned - start, PIECE_BYTES - (aligned - start));
    // SAFETY: both ends are of the range just mapped, which has no other user.
    unsafe {
        if before > 0 {
            kernel::unmap(start, before);
        }
        if after > 0 {
            kernel::unmap(aligned + bytes, after);
        }
    }
    Ok(aligned)
}

/// Whether no other thread of this process runs.
fn is_only_thread() -> bool {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the path ends with a zero byte; the kernel fills the structure, or says that it did not.
    let threads = unsafe {
        match libc::stat(c"/proc/self/task".as_ptr(), status.as_mut_ptr()) {
            0 => status.assume_init().st_nlink,
            _ => return false,
        }
    };
    // One link a thread, beside the folder's own two.
    threads <= 3
}
