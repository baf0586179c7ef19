use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    FallocateFlags, MemfdFlags, Mode, OFlags, SealFlags, fallocate, fchmod, fchown,
    fcntl_add_seals, fstat, ftruncate, memfd_create, open,
};
use rustix::io::Errno;
use rustix::process::{Gid, Uid, getegid, geteuid};

use super::HugeSize;
use crate::{Backing, Mapping, OsError, Result};

/// Who holds a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holders {
    /// Only the [`HugeFile`] itself, now and, after [`HugeFile::revoke`], from now on.
    OnlyUs,
    /// Another process has a descriptor or a mapping, or one is in flight through a socket.
    Others,
    /// This kernel gives no file leases on such files, so it cannot be known.
    Unknown,
}

/// A file of huge pages that lives in memory, and the only descriptor of this process for it.
///
/// What others get is a second *open file* ([`HugeFile::lend`]): descriptors that are duplicated, inherited or sent, and
/// mappings, all hold the open file that they came from. So once it is closed, no process has any of its pages ([`HugeFile::holders`]).
#[derive(Debug)]
pub struct HugeFile {
    file: OwnedFd,
    size: HugeSize,
    pages: usize,
}

impl HugeFile {
    /// A file of `pages` pages, none of them there yet.
    ///
    /// # Errors
    /// The kernel has no such pages, or this process too many open files.
    pub fn create(size: HugeSize, pages: usize) -> Result<Self> {
        let failed = |error: Errno| {
            OsError::new(
                format!("make a file of {pages} huge pages of {size}"),
                error,
            )
        };
        let flags = MemfdFlags::HUGETLB | MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC;
        let flags = flags | size.memfd_flag();
        let first = memfd_create("pagemill", flags).map_err(failed)?;
        fchmod(&first, Mode::RUSR | Mode::WUSR).map_err(failed)?;
        ftruncate(&first, (pages * size.bytes()) as u64).map_err(failed)?;
        // The kernel does not count the descriptor that came with the file as an opening of it; this one it does.
        let file = reopen(first.as_fd()).map_err(failed)?;
        Ok(Self { file, size, pages })
    }

    /// The size of its pages.
    pub fn size(&self) -> HugeSize {
        self.size
    }

    /// How many pages it has.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> usize {
        self.pages * self.size.bytes()
    }

    /// Has the kernel find a page for every hole, and clear it. Pages that are there stay as they are.
    ///
    /// # Errors
    /// Too few free pages ([`OsError::is_out_of_pages`]); what was found stays.
    pub fn populate(&self) -> Result<()> {
        fallocate(&self.file, FallocateFlags::empty(), 0, self.bytes() as u64).map_err(|error| {
            OsError::new(
                format!(
                    "fill a file with {} huge pages of {}",
                    self.pages, self.size
                ),
                error,
            )
            .with_hint("see HugePages_Free in /proc/meminfo")
        })
    }

    /// A descriptor for another process. The file is sealed: its length stays. Where this process may, the user owns
    /// the file from now on, so that `/proc/self/fd/N` can be opened by programs that want a path.
    ///
    /// # Errors
    /// Too many open files.
    pub fn lend(&self, user: u32, group: u32) -> Result<OwnedFd> {
        let failed = |error| OsError::new("open a file of huge pages once more", error);
        let seals = SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        match fcntl_add_seals(&self.file, seals) {
            // Sealed by an earlier lease.
            Ok(()) | Err(Errno::PERM) => {}
            Err(error) => return Err(OsError::new("seal a file of huge pages", error)),
        }
        fchmod(&self.file, Mode::RUSR | Mode::WUSR).map_err(failed)?;
        let lent = reopen(self.file.as_fd()).map_err(failed)?;
        if Uid::from_raw(user) != geteuid() {
            let owner = (Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
            // Without the privilege to change owners, the user merely cannot open the file by path.
            let _ = fchown(&self.file, owner.0, owner.1);
        }
        Ok(lent)
    }

    /// The file cannot be opened again, by any path. Processes that have it open keep it. (Root can open anything.)
    ///
    /// # Errors
    /// The file is not ours.
    pub fn revoke(&self) -> Result<()> {
        let failed = |error| OsError::new("take a file of huge pages back", error);
        if fstat(&self.file).map_err(failed)?.st_uid != geteuid().as_raw() {
            fchown(&self.file, Some(geteuid()), Some(getegid())).map_err(failed)?;
        }
        fchmod(&self.file, Mode::empty()).map_err(failed)
    }

    /// Whether another process has a descriptor for the file or a mapping of it. The answer [`Holders::OnlyUs`] is
    /// for good after [`HugeFile::revoke`].
    ///
    /// The kernel grants a write lease exactly if the file is open once. Pages that are pinned through another kernel
    /// object (registered I/O buffers, DMA) do not count as open.
    pub fn holders(&self) -> Holders {
        match set_lease(self.file.as_fd(), libc::F_WRLCK) {
            Ok(()) => {
                let released = set_lease(self.file.as_fd(), libc::F_UNLCK);
                debug_assert!(released.is_ok(), "a lease of ours: {released:?}");
                Holders::OnlyUs
            }
            Err(Errno::AGAIN) => Holders::Others,
            Err(_) => Holders::Unknown,
        }
    }

    /// Whether the length is what it was: a holder cannot cut the file, but mapping past its end makes it longer.
    ///
    /// # Errors
    /// The kernel knows nothing of the file.
    pub fn has_its_length(&self) -> Result<bool> {
        let stat = fstat(&self.file).map_err(|error| OsError::new("look at a file", error))?;
        Ok(stat.st_size as u64 == self.bytes() as u64)
    }

    /// Gives every page back to the kernel, even while other processes keep the file itself open.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn empty(&self) -> Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let bytes = fstat(&self.file).map_or(self.bytes() as u64, |stat| stat.st_size as u64);
        fallocate(&self.file, flags, 0, bytes)
            .map_err(|error| OsError::new("give huge pages back", error))
    }

    /// Maps the whole file into this process.
    ///
    /// # Errors
    /// As [`Mapping::new`].
    pub fn map(&self, populate: bool) -> Result<Mapping> {
        Mapping::new(Backing::File(self.file.as_fd()), self.bytes(), populate)
    }
}

impl AsFd for HugeFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn reopen(file: BorrowedFd<'_>) -> std::result::Result<OwnedFd, Errno> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
}

fn set_lease(file: BorrowedFd<'_>, kind: libc::c_int) -> std::result::Result<(), Errno> {
    // SAFETY: F_SETLEASE takes an integer and touches no memory of ours; the descriptor is open.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) };
    if result == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL))
}
