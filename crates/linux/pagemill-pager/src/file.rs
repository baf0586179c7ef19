//! Files whose bytes are paged memory.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::fs::{FallocateFlags, fallocate};

use crate::UNIT_BYTES;

const UNIT: u64 = UNIT_BYTES as u64;

/// How a file is mapped. The letters are those of NumPy's `memmap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// `r`: the file stays as it is. Memory is not protected: who writes to it has changes of their own, as with `c`.
    Read,
    /// `r+`: changes are written to the file, which grows if it is too short.
    ReadWrite,
    /// `w+`: the same, for a file that is made or emptied first. Its blocks are allocated at once.
    Create,
    /// `c`: changes go to the store, and end with the memory.
    Private,
}

/// Why a file cannot be mapped, read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// No mode has these letters.
    #[error("there is no mode {0:?}: use \"r\", \"r+\", \"w+\" or \"c\"")]
    Mode(String),
    /// Nothing is to be mapped.
    #[error("0 bytes of {} cannot be mapped: ask for one or more", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be opened.
    #[error("cannot open {} for {}: {source}; {}", path.display(), access(*.is_written), advice(*.is_written, source))]
    Open {
        /// The file.
        path: PathBuf,
        /// Whether it was to be written.
        is_written: bool,
        /// What the system said.
        source: io::Error,
    },
    /// It ends too early.
    #[error("{} has {file_bytes} bytes, and {needed_bytes} are to be mapped: map fewer, or use mode \"r+\", which makes it longer", path.display())]
    TooShort {
        /// The file.
        path: PathBuf,
        /// What it has.
        file_bytes: u64,
        /// Where the mapped part ends.
        needed_bytes: u64,
    },
    /// It became shorter after it was mapped.
    #[error("{} was shortened to {file_bytes} bytes while {needed_bytes} of it were mapped: make it as long as it was", path.display())]
    Shortened {
        /// The file.
        path: PathBuf,
        /// What it has.
        file_bytes: u64,
        /// Where the mapped part ends.
        needed_bytes: u64,
    },
    /// It cannot be made as long as it should be.
    #[error("cannot make {} {needed_bytes} bytes long: {source}; free room on its file system, or use another", path.display())]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// How long it was to be.
        needed_bytes: u64,
        /// What the system said.
        source: io::Error,
    },
    /// Reading or writing failed.
    #[error("cannot {what} bytes {} to {} of {}: {source}{}", range.start, range.end, path.display(), hint(source))]
    Io {
        /// `read`, `write`, ..
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Which bytes of it.
        range: Range<u64>,
        /// What the system said.
        source: io::Error,
    },
    /// A child of `fork` has none of the memory.
    #[error("{} was mapped by the parent of this process, which alone can write to it: map it again", path.display())]
    Child {
        /// The file.
        path: PathBuf,
    },
}

fn access(is_written: bool) -> &'static str {
    if is_written { "writing" } else { "reading" }
}

fn advice(is_written: bool, error: &io::Error) -> &'static str {
    use io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    match error.kind() {
        NotFound => "mode \"w+\" makes a new file",
        PermissionDenied | ReadOnlyFilesystem if is_written => {
            "modes \"r\" and \"c\" need no right to write"
        }
        _ => "name a plain file that this user may use",
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free room on its file system, and try again"
        }
        _ => "",
    }
}

impl FromStr for FileMode {
    type Err = FileError;

    fn from_str(text: &str) -> Result<Self, FileError> {
        Ok(match text {
            "r" => Self::Read,
            "r+" => Self::ReadWrite,
            "w+" => Self::Create,
            "c" => Self::Private,
            other => return Err(FileError::Mode(other.to_owned())),
        })
    }
}

/// A part of a file that is memory. Its units are those of the file, so that one write to the file holds a whole unit.
#[derive(Debug)]
pub struct MappedFile {
    file: File,
    path: PathBuf,
    /// What is mapped: nothing else of the file is read or written.
    part: Range<u64>,
    is_written: bool,
}

impl MappedFile {
    /// Opens `bytes` bytes of `path` from `offset` on.
    pub fn open(path: &Path, mode: FileMode, offset: u64, bytes: u64) -> Result<Self, FileError> {
        let path = path.to_owned();
        let end = offset.checked_add(bytes).filter(|end| *end > offset);
        let Some(end) = end else {
            return Err(FileError::Empty { path });
        };
        let is_written = matches!(mode, FileMode::ReadWrite | FileMode::Create);
        let opened = OpenOptions::new()
            .read(true)
            .write(is_written)
            .create(mode == FileMode::Create)
            .truncate(mode == FileMode::Create)
            .open(&path);
        let file = match opened {
            Ok(file) => file,
            Err(source) => {
                return Err(FileError::Open {
                    path,
                    is_written,
                    source,
                });
            }
        };
        let mapped = Self {
            file,
            path,
            part: offset..end,
            is_written,
        };
        mapped.have_all(mode)?;
        Ok(mapped)
    }

    /// Makes the file as long as the part needs, where that is the mode's.
    fn have_all(&self, mode: FileMode) -> Result<(), FileError> {
        let (file_bytes, needed_bytes) = (self.length()?, self.part.end);
        let path = self.path.clone();
        let no_room = |source: io::Error| FileError::NoRoom {
            path: self.path.clone(),
            needed_bytes,
            source,
        };
        match mode {
            FileMode::Create => {
                match fallocate(&self.file, FallocateFlags::empty(), 0, needed_bytes) {
                    Ok(()) => Ok(()),
                    Err(rustix::io::Errno::OPNOTSUPP) => {
                        self.file.set_len(needed_bytes).map_err(no_room)
                    }
                    Err(error) => {
                        // Blocks that were allocated before there were no more.
                        let _ = self.file.set_len(0);
                        Err(no_room(error.into()))
                    }
                }
            }
            _ if file_bytes >= needed_bytes => Ok(()),
            FileMode::ReadWrite => self.file.set_len(needed_bytes).map_err(no_room),
            FileMode::Read | FileMode::Private => Err(FileError::TooShort {
                path,
                file_bytes,
                needed_bytes,
            }),
        }
    }

    /// Bytes of memory that it takes: whole units.
    pub fn memory_bytes(&self) -> u64 {
        self.part.end.next_multiple_of(UNIT) - self.start()
    }

    /// Where in memory the part starts.
    pub fn lead_bytes(&self) -> u64 {
        self.part.start - self.start()
    }

    /// Whether changes are written to the file.
    pub fn is_written(&self) -> bool {
        self.is_written
    }

    /// The error of a process that has no such memory.
    pub fn of_parent(&self) -> FileError {
        let path = self.path.clone();
        FileError::Child { path }
    }

    /// Where in the file memory starts.
    fn start(&self) -> u64 {
        self.part.start / UNIT * UNIT
    }

    /// Reads whole units from `at` of the memory on. Bytes beside the part are zeros.
    pub fn read(&self, at: u64, units: &mut [u8]) -> Result<(), FileError> {
        let (range, within) = self.mapped(at, units.len());
        units[..within.start].fill(0);
        units[within.end..].fill(0);
        self.file
            .read_exact_at(&mut units[within], range.start)
            .map_err(|error| self.failed("read", range, error))
    }

    /// Writes whole units to `at` of the memory, but for bytes beside the part.
    pub fn write(&self, at: u64, units: &[u8]) -> Result<(), FileError> {
        let (range, within) = self.mapped(at, units.len());
        self.check_length()?;
        self.file
            .write_all_at(&units[within], range.start)
            .map_err(|error| self.failed("write", range, error))
    }

    /// Returns once all that was written is on the disk.
    pub fn sync(&self) -> Result<(), FileError> {
        let failed = |error| self.failed("sync", self.part.clone(), error);
        self.file.sync_data().map_err(failed)
    }

    /// What of `bytes` bytes at `at` of the memory is mapped: in the file, and in these bytes.
    fn mapped(&self, at: u64, bytes: usize) -> (Range<u64>, Range<usize>) {
        let first = self.start() + at;
        let start = first.max(self.part.start);
        let end = (first + bytes as u64).min(self.part.end).max(start);
        (start..end, (start - first) as usize..(end - first) as usize)
    }

    fn length(&self) -> Result<u64, FileError> {
        let failed = |error| self.failed("look at", self.part.clone(), error);
        Ok(self.file.metadata().map_err(failed)?.len())
    }

    /// A write past the end would make the file longer, with zeros in between.
    fn check_length(&self) -> Result<(), FileError> {
        let (file_bytes, needed_bytes) = (self.length()?, self.part.end);
        if file_bytes >= needed_bytes {
            return Ok(());
        }
        let path = self.path.clone();
        Err(FileError::Shortened {
            path,
            file_bytes,
            needed_bytes,
        })
    }

    fn failed(&self, what: &'static str, range: Range<u64>, source: io::Error) -> FileError {
        if source.kind() == io::ErrorKind::UnexpectedEof
            && let Err(error) = self.check_length()
        {
            return error;
        }
        let path = self.path.clone();
        FileError::Io {
            what,
            path,
            range,
            source,
        }
    }
}
