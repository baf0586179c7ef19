use std::os::fd::{AsFd, OwnedFd};

use pagemill_linux::{Mapping, OsError};

/// What to do where the pool has too little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// Fail at once.
    Fail,
    /// Wait, this many milliseconds at most.
    Wait(u64),
    /// Wait, this many milliseconds at most, while pages that the pool is clearing are enough. Otherwise fail at once.
    WaitForCleaning(u64),
}

/// What to borrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub(crate) bytes: u64,
    pub(crate) page_bytes: u64,
    pub(crate) single_file: bool,
    pub(crate) exhausted: Exhausted,
}

impl Request {
    /// So many bytes in pages of 2 MiB, in any number of files, at once or not at all.
    pub fn bytes(bytes: u64) -> Self {
        Self {
            bytes,
            page_bytes: 2 << 20,
            single_file: false,
            exhausted: Exhausted::Fail,
        }
    }

    /// Pages of another size.
    #[must_use]
    pub fn page_bytes(self, page_bytes: u64) -> Self {
        Self { page_bytes, ..self }
    }

    /// All of it in one file, for programs that take one descriptor.
    #[must_use]
    pub fn single_file(self) -> Self {
        Self {
            single_file: true,
            ..self
        }
    }

    /// What to do where the pool has too little.
    #[must_use]
    pub fn when_exhausted(self, exhausted: Exhausted) -> Self {
        Self { exhausted, ..self }
    }
}

/// A file of clean pages.
#[derive(Debug)]
pub struct LentFile {
    /// To map, shared.
    pub descriptor: OwnedFd,
    /// Its length; at least what was asked for, with all files together.
    pub bytes: usize,
}

/// Borrowed memory. It ends when it is given back, when the [`crate::Client`] is dropped, or when the process ends; the memory
/// stays with the processes that map it, and the pool waits for them.
#[derive(Debug)]
pub struct Lease {
    pub(crate) number: u64,
    pub(crate) files: Vec<LentFile>,
    pub(crate) page_bytes: usize,
}

impl Lease {
    /// The files.
    pub fn files(&self) -> &[LentFile] {
        &self.files
    }

    /// Bytes of all files together.
    pub fn bytes(&self) -> usize {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Closes the files: what is mapped stays, and the lease lasts.
    #[must_use]
    pub fn without_files(self) -> Self {
        Self {
            files: Vec::new(),
            ..self
        }
    }

    /// Maps all files, one behind the other. With `populate`, touching the memory causes no fault.
    ///
    /// # Errors
    /// Too little address space.
    pub fn map(&self, populate: bool) -> Result<Mapping, OsError> {
        let parts: Vec<_> = self
            .files
            .iter()
            .map(|file| (file.descriptor.as_fd(), file.bytes))
            .collect();
        Mapping::of_files(&parts, self.page_bytes, populate)
    }
}
