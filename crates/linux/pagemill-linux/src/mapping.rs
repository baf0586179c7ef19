use std::ffi::c_void;
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::ptr;
use std::sync::atomic::AtomicU64;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use crate::hugetlb::HugeSize;
use crate::{OsError, Result};

/// What lies behind a mapping.
#[derive(Clone, Copy, Debug)]
pub enum Backing<'fd> {
    /// A file, from its first byte on; what one process writes, all that map it see.
    File(BorrowedFd<'fd>),
    /// Fresh memory of the kernel's usual pages.
    Anonymous,
    /// Fresh memory of huge pages, from the kernel's stock.
    HugeAnonymous(HugeSize),
}

/// An empty file in memory, `bytes` long, that is closed when a program is started.
///
/// # Errors
/// The kernel refuses.
pub fn memory_file(name: &str, bytes: u64) -> Result<File> {
    let failed = |error| OsError::new(format!("make a file of {bytes} bytes in memory"), error);
    let file = memfd_create(name, MemfdFlags::CLOEXEC).map_err(failed)?;
    ftruncate(&file, bytes).map_err(failed)?;
    Ok(File::from(file))
}

/// Readable and writable memory, mapped into this process until it is dropped.
#[derive(Debug)]
pub struct Mapping {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the memory belongs to the mapping alone, and no thread owns it.
unsafe impl Send for Mapping {}
// SAFETY: shared access only reads.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` of `backing`. With `populate`, page-table entries are made now rather than at the first touch.
    ///
    /// A file must not be written by others while this process reads it through references: the pool's files are
    /// mapped by their one holder, and by the daemon only while there is no holder.
    ///
    /// # Errors
    /// The kernel refuses: too few huge pages, or too little address space.
    pub fn new(backing: Backing<'_>, bytes: usize, populate: bool) -> Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let populate = if populate {
            MapFlags::POPULATE
        } else {
            MapFlags::empty()
        };
        // SAFETY: without a fixed address the kernel chooses one that is free, so nothing of ours is replaced.
        let mapped = unsafe {
            match backing {
                Backing::File(file) => {
                    let flags = MapFlags::SHARED | populate;
                    mmap(ptr::null_mut(), bytes, access, flags, file, 0)
                }
                Backing::Anonymous => {
                    mmap_anonymous(ptr::null_mut(), bytes, access, MapFlags::PRIVATE | populate)
                }
                Backing::HugeAnonymous(size) => {
                    let flags = MapFlags::PRIVATE | MapFlags::HUGETLB | size.map_flag() | populate;
                    mmap_anonymous(ptr::null_mut(), bytes, access, flags)
                }
            }
        };
        let start = mapped.map_err(|error| OsError::new(format!("map {bytes} bytes"), error))?;
        Ok(Self {
            start: start.cast(),
            bytes,
        })
    }

    /// Maps files one behind the other, each with its first `bytes`, from an address that is a multiple of `alignment`.
    ///
    /// # Errors
    /// As [`Mapping::new`]; nothing stays mapped then.
    pub fn of_files(
        files: &[(BorrowedFd<'_>, usize)],
        alignment: usize,
        populate: bool,
    ) -> Result<Self> {
        let bytes: usize = files.iter().map(|(_, bytes)| bytes).sum();
        let mapping = Self::reserve(bytes, alignment)?;
        let mut offset = 0;
        for &(file, bytes) in files {
            // SAFETY: `offset..offset + bytes` lies in the range that was reserved above and that nothing else uses.
            unsafe {
                Self::map_over(
                    file,
                    mapping.start.expose_provenance() + offset,
                    bytes,
                    populate,
                )
            }?;
            offset += bytes;
        }
        Ok(mapping)
    }

    /// Maps the first `bytes` of a file over what is at `start`, shared; with `populate`, as [`Mapping::new`].
    ///
    /// # Errors
    /// The kernel refuses.
    ///
    /// # Safety
    /// No reference leads to what is there.
    pub unsafe fn map_over(
        file: BorrowedFd<'_>,
        start: usize,
        bytes: usize,
        populate: bool,
    ) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let mut flags = MapFlags::SHARED | MapFlags::FIXED;
        flags.set(MapFlags::POPULATE, populate);
        // SAFETY: the place is the caller's to give up.
        let mapped = unsafe {
            let start = ptr::with_exposed_provenance_mut(start);
            mmap(start, bytes, access, flags, file, 0)
        };
        mapped.map_err(|error| OsError::new(format!("map {bytes} bytes at {start:#x}"), error))?;
        Ok(())
    }

    /// Addresses that nothing else takes, with no memory behind them.
    fn reserve(bytes: usize, alignment: usize) -> Result<Self> {
        let failed = |error| OsError::new(format!("reserve {bytes} bytes of addresses"), error);
        let room = bytes + alignment;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the kernel chooses free addresses.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), room, ProtFlags::empty(), flags) };
        let start: *mut u8 = start.map_err(failed)?.cast();
        let before = (start as usize).next_multiple_of(alignment) - start as usize;
        let after = room - before - bytes;
        // SAFETY: both ends lie in the range just mapped, which has no other user yet.
        unsafe {
            let aligned = start.add(before);
            if before > 0 {
                munmap(start.cast(), before).map_err(failed)?;
            }
            if after > 0 {
                munmap(aligned.add(bytes).cast(), after).map_err(failed)?;
            }
            Ok(Self {
                start: aligned,
                bytes,
            })
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether nothing is mapped; the kernel never allows it.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Address of the first byte.
    pub fn address(&self) -> usize {
        self.start as usize
    }

    /// The memory, to read.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped readable for `bytes` bytes until drop, which needs exclusive access.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }

    /// The memory, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: mapped writable for `bytes` bytes until drop; `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }

    /// Has the kernel use its usual pages, even where it could use huge ones.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn keep_usual_pages(&self) -> Result<()> {
        let advice = rustix::mm::Advice::LinuxNoHugepage;
        // SAFETY: the range is this mapping's, and what it holds is not changed.
        let advised = unsafe { rustix::mm::madvise(self.start.cast(), self.bytes, advice) };
        match advised {
            // A kernel without huge pages needs no advice.
            Ok(()) | Err(rustix::io::Errno::INVAL) => Ok(()),
            Err(error) => Err(OsError::new("ask for usual pages", error)),
        }
    }

    /// Has the kernel use huge pages where it can. `false` where it has none.
    pub fn ask_for_huge_pages(&self) -> bool {
        let advice = rustix::mm::Advice::LinuxHugepage;
        // SAFETY: the range is this mapping's, and what it holds is not changed.
        unsafe { rustix::mm::madvise(self.start.cast(), self.bytes, advice) }.is_ok()
    }

    /// Gives the memory up to the caller, who unmaps it.
    pub fn into_raw(self) -> (*mut u8, usize) {
        let raw = (self.start, self.bytes);
        std::mem::forget(self);
        raw
    }
}

/// Numbers in memory that several processes may share, each changed as one.
#[derive(Debug)]
pub struct SharedWords {
    mapping: Mapping,
}

impl SharedWords {
    /// `count` numbers at the start of `file`, or of this process alone without one.
    ///
    /// # Errors
    /// The kernel refuses. A file has to be long enough: touching what is past its end ends the process.
    pub fn new(file: Option<BorrowedFd<'_>>, count: usize) -> Result<Self> {
        let backing = file.map_or(Backing::Anonymous, Backing::File);
        let mapping = Mapping::new(backing, count * size_of::<AtomicU64>(), true)?;
        Ok(Self { mapping })
    }

    /// The numbers.
    pub fn words(&self) -> &[AtomicU64] {
        let count = self.mapping.bytes / size_of::<AtomicU64>();
        // SAFETY: mapped readable and writable, aligned to a page, and only ever used as atomic numbers, for which any bits are a value.
        unsafe { std::slice::from_raw_parts(self.mapping.start.cast(), count) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this mapping made the range, nothing else unmaps it, and no reference outlives `self`.
        let unmapped = unsafe { munmap(self.start.cast::<c_void>(), self.bytes) };
        debug_assert!(
            unmapped.is_ok(),
            "munmap of a mapping of ours: {unmapped:?}"
        );
    }
}
