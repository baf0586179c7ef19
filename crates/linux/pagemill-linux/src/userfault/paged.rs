use std::ffi::c_void;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::mm::{
    Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap,
};

use super::raw::{
    self, EVENT_PAGEFAULT, FAULT_WRITE, FEATURE_MOVE, FEATURE_SIGBUS, FEATURE_THREAD_ID,
    IOCTL_MOVE, IOCTL_REGISTER, MODE_DONTWAKE, REGISTER_MISSING, RangeRequest, RegisterRequest,
    TransferRequest, ioctl,
};
use crate::{OsError, Result};

/// Bytes of a page of this machine.
pub(super) const UNIT: u64 = 4096;

/// Answers faults of [`Paged`] memory.
#[derive(Debug)]
pub struct Userfault {
    descriptor: OwnedFd,
}

/// A touch of memory that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagedFault {
    /// Where, rounded down to 4 KiB.
    pub address: u64,
    /// Whether it was a write.
    pub is_write: bool,
    /// Number of the thread that waits; 0 where it answers the fault itself.
    pub thread: u32,
}

impl Userfault {
    /// Answers no memory's faults yet. With `system_calls`, those of system calls too, which takes a privilege.
    ///
    /// # Errors
    /// The kernel is older than 6.8, or this user may not have it.
    pub fn open(system_calls: bool) -> Result<Self> {
        let flags = if system_calls { 0 } else { raw::USER_MODE_ONLY };
        Self::open_with(flags, FEATURE_MOVE | FEATURE_THREAD_ID)
    }

    /// The thread that faults gets a signal, for [`Answering`](super::Answering). System calls that touch missing memory fail with
    /// `EFAULT`. Takes no privilege.
    ///
    /// # Errors
    /// The kernel is older than 6.8, or has no such interface.
    pub fn open_for_signals() -> Result<Self> {
        Self::open_with(raw::USER_MODE_ONLY, FEATURE_MOVE | FEATURE_SIGBUS)
    }

    fn open_with(flags: libc::c_int, features: u64) -> Result<Self> {
        let failed = |error| OsError::new("answer page faults of this process", error);
        let descriptor = raw::descriptor(libc::O_NONBLOCK | flags).map_err(|error| {
            failed(error).with_hint(
                "`sysctl vm.unprivileged_userfaultfd=1`, read and write access to /dev/userfaultfd, or CAP_SYS_PTRACE allows it",
            )
        })?;
        raw::agree(&descriptor, features)
            .map_err(|error| failed(error).with_hint("Linux 6.8 or newer is needed"))?;
        Ok(Self { descriptor })
    }

    /// The next touch of memory that is not there, if there is one.
    ///
    /// # Errors
    /// Those of `read(2)`.
    pub fn next(&self) -> io::Result<Option<PagedFault>> {
        while let Some(message) = raw::next_message(&self.descriptor)? {
            if message.event == EVENT_PAGEFAULT {
                return Ok(Some(PagedFault {
                    address: message.address & !(UNIT - 1),
                    is_write: message.flags & FAULT_WRITE != 0,
                    thread: message.thread as u32,
                }));
            }
        }
        Ok(None)
    }

    /// Lets those try again who wait for a touch of `range`.
    pub fn wake(&self, range: Range<u64>) {
        // It fails only for ranges that are none.
        let _ = raw::wake(&self.descriptor, &range);
    }

    /// From now on, touches of missing pages of `range` are answered here.
    pub(super) fn register(&self, range: Range<u64>) -> io::Result<()> {
        let mut request = RegisterRequest {
            range: RangeRequest {
                start: range.start,
                bytes: range.end - range.start,
            },
            mode: REGISTER_MISSING,
            ioctls: 0,
        };
        // SAFETY: the request is the one that IOCTL_REGISTER takes. Memory that it names keeps its bytes.
        unsafe { ioctl(self.descriptor.as_raw_fd(), IOCTL_REGISTER, &mut request) }
    }

    /// Copies bytes to where no page is, and makes pages there.
    pub(super) fn copy(&self, to: u64, from: u64, bytes: u64) -> io::Result<()> {
        self.transfer(raw::IOCTL_COPY, to, from, bytes, MODE_DONTWAKE)
            .1
    }

    /// Moves pages; returns how many bytes of them, and what stopped it short of `bytes`. Wakes no thread.
    pub(super) fn move_pages(&self, to: u64, from: u64, bytes: u64) -> (u64, io::Result<()>) {
        self.transfer(IOCTL_MOVE, to, from, bytes, MODE_DONTWAKE)
    }

    /// The same, and wakes those who wait for the pages that were moved.
    pub(super) fn move_pages_and_wake(
        &self,
        to: u64,
        from: u64,
        bytes: u64,
    ) -> (u64, io::Result<()>) {
        self.transfer(IOCTL_MOVE, to, from, bytes, 0)
    }

    fn transfer(
        &self,
        request: libc::c_ulong,
        to: u64,
        from: u64,
        bytes: u64,
        mode: u64,
    ) -> (u64, io::Result<()>) {
        let mut done = 0;
        while done < bytes {
            let mut transfer = TransferRequest {
                to: to + done,
                from: from + done,
                bytes: bytes - done,
                mode,
                done: 0,
            };
            // SAFETY: the request is the one that both take; the callers in this module name memory of theirs.
            let result = unsafe { ioctl(self.descriptor.as_raw_fd(), request, &mut transfer) };
            done += u64::try_from(transfer.done).unwrap_or(0);
            match result {
                // Another thread maps or unmaps memory right now.
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {
                    if transfer.done <= 0 {
                        std::thread::yield_now();
                    }
                }
                Err(error) => return (done, Err(error)),
                Ok(()) => {}
            }
        }
        (done, Ok(()))
    }
}

impl AsFd for Userfault {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Private memory whose missing pages a [`Userfault`] brings. Unmapped when it is dropped.
///
/// Nothing refers to its bytes: who uses them has their address alone.
#[derive(Debug)]
pub struct Paged {
    start: u64,
    bytes: u64,
    /// What is still mapped: a program may unmap parts.
    mapped: Mutex<Vec<Range<u64>>>,
    /// Whether no child of `fork` is to have it.
    is_kept_back: AtomicBool,
}

impl Paged {
    /// Maps `bytes`, rounded up to 4 KiB, from an address that is a multiple of 2 MiB.
    ///
    /// # Errors
    /// The kernel refuses: too little address space, or too many mappings.
    pub fn map(userfault: &Userfault, bytes: u64) -> Result<Self> {
        let bytes = bytes.next_multiple_of(UNIT);
        let failed = |error| OsError::new(format!("map {bytes} bytes of paged memory"), error);
        let start = reserve(bytes).map_err(|error| failed(error.into()))?;
        let paged = Self::new(start..start + bytes);
        userfault.register(paged.range()).map_err(failed)?;
        paged.set_inherited(false);
        Ok(paged)
    }

    /// Takes `place`, which is private memory without pages and without access, and makes it readable and writable.
    ///
    /// # Errors
    /// The kernel refuses. The memory is as it was.
    pub fn take(userfault: &Userfault, place: Range<u64>) -> Result<Self> {
        let bytes = (place.end - place.start) as usize;
        let failed = |error| OsError::new(format!("page the memory {place:x?}"), error);
        userfault.register(place.clone()).map_err(failed)?;
        let paged = Self::new(place.clone());
        paged.set_inherited(false);
        let access = MprotectFlags::READ | MprotectFlags::WRITE;
        // SAFETY: the caller's memory has no pages, so that no reference leads there; neither call changes bytes.
        let opened = unsafe {
            let _ = madvise(pointer(place.start), bytes, Advice::LinuxNoHugepage);
            mprotect(pointer(place.start), bytes, access)
        };
        if let Err(error) = opened {
            // It is not this value's to unmap.
            let _ = paged.release(userfault, place.clone());
            return Err(failed(error.into()));
        }
        Ok(paged)
    }

    fn new(range: Range<u64>) -> Self {
        Self {
            start: range.start,
            bytes: range.end - range.start,
            mapped: Mutex::new(std::iter::once(range).collect()),
            is_kept_back: AtomicBool::new(false),
        }
    }

    /// The addresses.
    pub fn range(&self) -> Range<u64> {
        self.start..self.start + self.bytes
    }

    /// Whether a child of `fork` has this memory. Where it has none, it ends at a touch; where the faults of the child are not answered,
    /// it would read zeros.
    pub fn set_inherited(&self, is_inherited: bool) {
        let advice = if is_inherited {
            Advice::LinuxDoFork
        } else {
            Advice::LinuxDontFork
        };
        for part in self.mapped().iter() {
            let bytes = (part.end - part.start) as usize;
            // SAFETY: the range is this mapping's, and keeps its bytes.
            let _ = unsafe { madvise(pointer(part.start), bytes, advice) };
        }
    }

    /// Whether children of `fork` are to have `part`, all that is mapped or some of it; answers whether it can be so.
    pub fn keep_back(&self, part: &Range<u64>, is_kept_back: bool) -> bool {
        let is_all = self
            .mapped()
            .iter()
            .all(|mapped| part.start <= mapped.start && mapped.end <= part.end);
        if is_all {
            self.is_kept_back.store(is_kept_back, Ordering::Relaxed);
        }
        self.is_kept_back() == is_kept_back
    }

    /// Whether no child of `fork` is to have it.
    pub fn is_kept_back(&self) -> bool {
        self.is_kept_back.load(Ordering::Relaxed)
    }

    fn mapped(&self) -> MutexGuard<'_, Vec<Range<u64>>> {
        self.mapped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether any of it is still mapped.
    pub fn is_mapped(&self) -> bool {
        !self.mapped().is_empty()
    }

    /// Enters that `gone` has another owner, or none.
    pub fn forget(&self, gone: Range<u64>) {
        let mut mapped = self.mapped();
        let parts = mapped.iter().flat_map(|part| {
            let before = part.start..part.end.min(gone.start);
            let after = part.start.max(gone.end)..part.end;
            [before, after]
        });
        *mapped = parts.filter(|part| part.start < part.end).collect();
    }

    /// In a child of `fork`: `userfault` answers from now on.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn adopt(&self, userfault: &Userfault) -> Result<()> {
        let failed = |error| OsError::new("answer page faults of a forked child", error);
        let mut parts = self.mapped().clone().into_iter();
        parts.try_for_each(|part| userfault.register(part).map_err(failed))
    }

    /// In a child of `fork` that does not have it: nothing else is mapped there for now.
    pub fn hold_place(&self) {
        for part in self.mapped().iter() {
            let bytes = (part.end - part.start) as usize;
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
            let (place, access) = (pointer(part.start), ProtFlags::empty());
            // SAFETY: what is mapped there stays, and what is not has no user.
            let _ = unsafe { mmap_anonymous(place, bytes, access, flags) };
        }
    }

    /// Makes a page at `address` of `unit`, unless there is one, and wakes those who wait for it.
    ///
    /// # Panics
    /// If it is not in this memory.
    pub fn place(&self, userfault: &Userfault, address: u64, unit: &[u8; UNIT as usize]) {
        self.check(&(address..address + UNIT));
        let from = unit.as_ptr().expose_provenance() as u64;
        // It fails where a page or no memory is: both are as they should be.
        let _ = userfault.copy(address, from, UNIT);
        userfault.wake(address..address + UNIT);
    }

    /// Faults of `range`, all of whose pages are there, are the kernel's from now on, and a child of `fork` has it: it is plain memory.
    ///
    /// # Errors
    /// The kernel refuses: too many mappings.
    ///
    /// # Panics
    /// If it is not in this memory.
    pub fn release(&self, userfault: &Userfault, range: Range<u64>) -> io::Result<()> {
        self.check(&range);
        let bytes = range.end - range.start;
        let mut request = RangeRequest {
            start: range.start,
            bytes,
        };
        let descriptor = userfault.descriptor.as_raw_fd();
        // SAFETY: the request is the one that IOCTL_UNREGISTER takes.
        unsafe { ioctl(descriptor, raw::IOCTL_UNREGISTER, &mut request) }?;
        // SAFETY: the range is this mapping's, and keeps its bytes.
        let _ = unsafe { madvise(pointer(range.start), bytes as usize, Advice::LinuxDoFork) };
        self.forget(range);
        Ok(())
    }

    /// Drops the pages of `range`, which lies in this memory: its next touch is a fault.
    ///
    /// # Panics
    /// If it does not.
    pub fn drop_pages(&self, range: Range<u64>) {
        self.check(&range);
        let bytes = (range.end - range.start) as usize;
        // SAFETY: the range is this mapping's, and no reference of ours leads there.
        let _ = unsafe { madvise(pointer(range.start), bytes, Advice::LinuxDontNeed) };
    }

    /// The word at `offset`, a multiple of 8: a touch like any of the program's.
    ///
    /// # Panics
    /// If it is not in memory that is mapped.
    pub fn read(&self, offset: u64) -> u64 {
        self.with_word(offset, |word| word.load(Ordering::Relaxed))
    }

    /// Writes the word at `offset`, a multiple of 8: a touch like any of the program's.
    ///
    /// # Panics
    /// If it is not in memory that is mapped.
    pub fn write(&self, offset: u64, value: u64) {
        self.with_word(offset, |word| word.store(value, Ordering::Relaxed));
    }

    fn with_word<T>(&self, offset: u64, act: impl FnOnce(&AtomicU64) -> T) -> T {
        let address = self.start + offset;
        let mapped = self.mapped();
        let is_mapped =
            (mapped.iter()).any(|part| part.start <= address && address + 8 <= part.end);
        assert!(is_mapped && offset.is_multiple_of(8), "no word at {offset}");
        // SAFETY: the word is mapped, readable and writable for as long as `mapped` is locked, and all of this process that know of
        // it use it as an atomic.
        act(unsafe { AtomicU64::from_ptr(pointer(address).cast()) })
    }

    /// Unmaps the memory now rather than when it is dropped.
    pub fn unmap(&self) {
        for part in std::mem::take(&mut *self.mapped()) {
            // SAFETY: this value made the mapping, unmaps each part once, and no reference leads there.
            let _ = unsafe { munmap(pointer(part.start), (part.end - part.start) as usize) };
        }
    }

    /// Has the page at `address` be this process's alone, after a `fork`.
    pub(super) fn unshare(&self, address: u64) {
        self.check(&(address..address + UNIT));
        // SAFETY: the range is this mapping's, and keeps its bytes.
        let _ = unsafe { madvise(pointer(address), UNIT as usize, Advice::LinuxPopulateWrite) };
    }

    pub(super) fn check(&self, range: &Range<u64>) {
        let own = self.range();
        assert!(
            own.start <= range.start && range.start <= range.end && range.end <= own.end,
            "{range:x?} is not in the paged memory {own:x?}"
        );
    }
}

impl Drop for Paged {
    fn drop(&mut self) {
        self.unmap();
    }
}

pub(super) fn pointer(address: u64) -> *mut c_void {
    ptr::with_exposed_provenance_mut(address as usize)
}

/// Fresh memory of usual pages at `place`, if nothing is there.
pub(super) fn reserve_at(place: u64, bytes: u64) -> Option<u64> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: what is mapped there stays.
    let mapped = unsafe { mmap_anonymous(pointer(place), bytes as usize, access, flags) }.ok()?;
    // SAFETY: it was just made, and keeps its bytes. A kernel without huge pages refuses.
    let _ = unsafe { madvise(mapped, bytes as usize, Advice::LinuxNoHugepage) };
    Some(place)
}

/// Fresh memory of usual pages, from a multiple of 2 MiB on.
pub(super) fn reserve(bytes: u64) -> rustix::io::Result<u64> {
    const ALIGNMENT: u64 = 2 << 20;
    let room = bytes
        .checked_add(ALIGNMENT)
        .ok_or(rustix::io::Errno::NOMEM)?;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the kernel chooses free addresses.
    let mapped = unsafe { mmap_anonymous(ptr::null_mut(), room as usize, access, flags) }?;
    let first = mapped.expose_provenance() as u64;
    let start = first.next_multiple_of(ALIGNMENT);
    // SAFETY: both ends lie in the range just mapped, which has no other user yet.
    unsafe {
        if start > first {
            munmap(pointer(first), (start - first) as usize)?;
        }
        munmap(
            pointer(start + bytes),
            (first + room - start - bytes) as usize,
        )?;
        // A kernel without huge pages refuses, and has none to keep away.
        let _ = madvise(pointer(start), bytes as usize, Advice::LinuxNoHugepage);
    }
    Ok(start)
}
