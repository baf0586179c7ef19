//! Calls that change what memory means, whichever way a program makes them.

use std::ffi::{c_int, c_long};
use std::ops::Range;

use crate::kernel::{self, Answer};

/// Bytes of the pages that these calls count in.
pub const PAGE_BYTES: usize = 4096;

/// `MADV_DONTNEED_LOCKED`, newer than the C library's headers.
pub const DONTNEED_LOCKED: c_int = 24;

/// A system call on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The number of the system call.
    pub number: c_long,
    /// As the kernel takes them.
    pub arguments: [usize; 6],
}

/// What a call does to the memory that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `mmap`.
    Map,
    /// `munmap`.
    Unmap,
    /// `mremap`.
    Remap,
    /// `madvise`.
    Advise,
    /// `mprotect`, `pkey_mprotect`.
    Protect,
    /// `fork`, and `clone` without shared memory.
    Fork,
    /// `mlock`, `mbind`, `mseal` and their like.
    Other,
}

impl Call {
    /// A call with the arguments it has; the others are 0.
    pub fn new<const COUNT: usize>(number: c_long, given: [usize; COUNT]) -> Self {
        let mut arguments = [0; 6];
        arguments[..COUNT].copy_from_slice(&given);
        Self { number, arguments }
    }

    /// What it does.
    pub fn kind(&self) -> Kind {
        match self.number {
            libc::SYS_mmap => Kind::Map,
            libc::SYS_munmap => Kind::Unmap,
            libc::SYS_mremap => Kind::Remap,
            libc::SYS_madvise => Kind::Advise,
            libc::SYS_mprotect | libc::SYS_pkey_mprotect => Kind::Protect,
            _ => Kind::Other,
        }
    }

    /// The memory that it names first, in whole pages; all memory for `mlockall`.
    pub fn range(&self) -> Range<usize> {
        if self.number == libc::SYS_mlockall {
            return 0..usize::MAX;
        }
        pages(self.arguments[0], self.arguments[1])
    }

    /// The place that it replaces, if it replaces one.
    pub fn replaces(&self) -> Option<Range<usize>> {
        let [start, bytes, new_bytes, flags, target, _] = self.arguments;
        match self.kind() {
            Kind::Unmap => Some(self.range()),
            Kind::Map if has(flags, libc::MAP_FIXED) && !has(flags, libc::MAP_FIXED_NOREPLACE) => {
                Some(pages(start, bytes))
            }
            Kind::Remap if has(flags, libc::MREMAP_FIXED) => Some(pages(target, new_bytes)),
            _ => None,
        }
    }

    /// The advice of `madvise`, the access of `mprotect`.
    pub fn third(&self) -> c_int {
        self.arguments[2] as c_int
    }

    /// Whether it makes a ring, by which the kernel takes calls on memory without a system call for each.
    pub fn makes_ring(&self) -> bool {
        self.number == libc::SYS_io_uring_setup
    }

    /// Has the kernel do it.
    ///
    /// # Safety
    /// As the call itself.
    pub unsafe fn perform(&self) -> Answer {
        // SAFETY: the caller may have the kernel do this call.
        unsafe { kernel::perform(self.number, self.arguments) }
    }

    /// Has the kernel open a descriptor, then does `then` if it has; without that, the program gets no descriptor.
    ///
    /// # Safety
    /// As the call itself.
    pub unsafe fn perform_and(&self, then: impl FnOnce() -> Result<(), i32>) -> Answer {
        // SAFETY: the caller may have the kernel do this call, and gets its descriptor or an error.
        let opened = unsafe { self.perform() };
        if kernel::has_failed(opened) {
            return opened;
        }
        let Err(error) = then() else { return opened };
        // SAFETY: the descriptor was just opened, and has no user.
        unsafe { kernel::perform(libc::SYS_close, [opened as usize, 0, 0, 0, 0, 0]) };
        -(error as Answer)
    }
}

/// The pages that hold these bytes.
fn pages(start: usize, bytes: usize) -> Range<usize> {
    let end = start.saturating_add(bytes);
    start..end.checked_next_multiple_of(PAGE_BYTES).unwrap_or(end)
}

/// Whether a flag is set.
pub fn has(flags: usize, flag: c_int) -> bool {
    flags & flag as usize != 0
}
