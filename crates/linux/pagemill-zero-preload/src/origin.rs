//! Sources of large memory: the pool, or the kernel in ways that a program can be compared under.

use std::ops::Range;

use pagemill_mapping::kernel::{self, has_failed};
use pagemill_mapping::plain;

use crate::settings::origin_name;

/// `PAGEMILL_ZERO_SOURCE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The pool.
    Pool,
    /// Huge pages of the kernel's stock, which it clears at the first touch.
    Hugetlb,
    /// Memory that the kernel may use transparent huge pages for.
    Transparent,
    /// Memory that is there, and cleared, when the allocation returns.
    Populated,
}

impl Origin {
    /// As the environment has it. What is no source is the pool, as ever.
    pub fn chosen() -> Self {
        match origin_name() {
            b"hugetlb" => Self::Hugetlb,
            b"thp" => Self::Transparent,
            b"populate" => Self::Populated,
            _ => Self::Pool,
        }
    }

    /// Whether its memory is the kernel's private memory, on which every call means what it always means.
    pub fn is_private(self) -> bool {
        matches!(self, Self::Transparent | Self::Populated)
    }

    /// Whether it can stand for a mapping of huge pages.
    pub fn is_hugetlb(self) -> bool {
        !self.is_private()
    }

    /// `bytes` of the kernel's memory from a multiple of `granule`.
    ///
    /// # Errors
    /// The kernel has too little.
    pub fn map(self, bytes: usize, granule: usize) -> Result<Range<usize>, String> {
        let flags = match self {
            Self::Hugetlb => libc::MAP_HUGETLB | libc::MAP_HUGE_2MB,
            _ => 0,
        };
        // Huge pages are aligned by themselves.
        let room = if self.is_private() {
            bytes + granule
        } else {
            bytes
        };
        let start = map(room, flags)
            .map_err(|_| format!("the kernel has too few huge pages for {} MiB", bytes >> 20))?;
        let aligned = start.next_multiple_of(granule);
        let end = aligned + bytes;
        // SAFETY: the ends, and the advice, concern memory that was just mapped, and that has no user yet.
        unsafe {
            if start < aligned {
                kernel::unmap(start, aligned - start);
            }
            if end < start + room {
                kernel::unmap(end, start + room - end);
            }
            match self {
                Self::Transparent => kernel::advise(aligned, bytes, libc::MADV_HUGEPAGE),
                // As `MAP_POPULATE`, but without what was cut off.
                Self::Populated => kernel::advise(aligned, bytes, libc::MADV_POPULATE_WRITE),
                _ => 0,
            };
        }
        Ok(aligned..end)
    }

    /// Makes a part of its memory read as zero.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn discard(self, part: Range<usize>) -> Result<(), i32> {
        if !self.is_private() {
            plain::clear(part);
            return Ok(());
        }
        // SAFETY: the program gives these bytes up.
        let answer = unsafe { kernel::advise(part.start, part.len(), libc::MADV_DONTNEED) };
        match has_failed(answer) {
            true => Err(-answer as i32),
            false => Ok(()),
        }
    }
}

fn map(bytes: usize, flags: i32) -> Result<usize, i32> {
    let access = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags) as usize;
    let arguments = [0, bytes, access, flags, usize::MAX, 0];
    // SAFETY: the kernel chooses free addresses.
    let answer = unsafe { kernel::perform(libc::SYS_mmap, arguments) };
    match has_failed(answer) {
        true => Err(-answer as i32),
        false => Ok(answer as usize),
    }
}
