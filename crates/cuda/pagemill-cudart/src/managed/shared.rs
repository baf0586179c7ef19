//! Memory of the GPU that several processes map.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;

use pagemill_linux::{Backing, Mapping, memory_file};

/// A file in memory, and this process's mapping of it.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    /// Ends with this value.
    _mapping: Mapping,
    file: File,
}

/// By what another process finds a [`SharedMemory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The process that made it.
    pub(crate) process: u32,
    /// Its descriptor there.
    pub(crate) descriptor: u32,
    /// Which file that has to be, as descriptors are used again.
    pub(crate) inode: u64,
    /// Its size.
    pub(crate) bytes: u64,
}

impl SharedMemory {
    /// `bytes` zero bytes that others can open.
    ///
    /// # Errors
    /// When the system has no room.
    pub(crate) fn create(bytes: u64) -> io::Result<(Self, &'static mut [u8])> {
        let file = memory_file("pagemill-ipc", bytes).map_err(io::Error::other)?;
        Self::map(file, bytes)
    }

    /// Opens that of another process.
    ///
    /// # Errors
    /// When that process has ended or given it back, or belongs to another user.
    pub(crate) fn open(origin: &Origin) -> io::Result<(Self, &'static mut [u8])> {
        let path = format!("/proc/{}/fd/{}", origin.process, origin.descriptor);
        let file = File::options().read(true).write(true).open(path)?;
        let found = file.metadata()?;
        if (found.ino(), found.len()) != (origin.inode, origin.bytes) || origin.bytes == 0 {
            return Err(io::ErrorKind::NotFound.into());
        }
        Self::map(file, origin.bytes)
    }

    fn map(file: File, bytes: u64) -> io::Result<(Self, &'static mut [u8])> {
        let length = usize::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let mapping = Mapping::new(Backing::File(file.as_fd()), length, false);
        let mapping = mapping.map_err(io::Error::other)?;
        // SAFETY: the mapping is readable and writable, so long, and stays until this value is dropped, which its owner does
        // after the simulator has given the slice back. Another process may write the same bytes at any time: such writes
        // are as sudden as those of a device, and no Rust code holds a borrow of the bytes across calls of the runtime.
        let slice = unsafe { std::slice::from_raw_parts_mut(mapping.address() as *mut u8, length) };
        let shared = Self {
            _mapping: mapping,
            file,
        };
        Ok((shared, slice))
    }

    /// By what other processes find it.
    ///
    /// # Errors
    /// When the system does not say what file it is.
    pub(crate) fn origin(&self) -> io::Result<Origin> {
        let known = self.file.metadata()?;
        Ok(Origin {
            process: std::process::id(),
            descriptor: self.file.as_raw_fd() as u32,
            inode: known.ino(),
            bytes: known.len(),
        })
    }
}
