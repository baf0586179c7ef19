//! Where a board's memory comes from: an anonymous file that lives as long as a process has it open, or this process alone.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::MemfdFlags;
use rustix::mm::{MapFlags, ProtFlags};

use super::bells::{BellTower, Bells};
use super::layout::Layout;
use super::{Board, STATIONS_MAX};

/// Environment variable that names the file of the job's board.
pub const JOB_VARIABLE: &str = "PAGEMILL_FABRIC_JOB";

/// Why there is no board.
#[derive(Debug)]
pub enum SegmentError {
    /// The memory is smaller than a board.
    TooSmall {
        /// 64-bit words that were found.
        words: usize,
    },
    /// It is no board, or of another version of pagemill.
    OtherVersion {
        /// The word that should say so.
        found: u64,
    },
    /// The machine's description does not fit.
    MachineTooLong {
        /// Its length.
        bytes: usize,
    },
    /// The operating system refused.
    System {
        /// What was tried.
        attempt: &'static str,
        /// Why not.
        error: std::io::Error,
    },
}

impl fmt::Display for SegmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall { words } => write!(
                f,
                "the job's shared memory has {words} words of the {} that a board takes",
                Board::WORDS
            ),
            Self::OtherVersion { found } => write!(
                f,
                "the job's shared memory is not of this version of pagemill (it starts with {found:#x})"
            ),
            Self::MachineTooLong { bytes } => {
                write!(f, "the machine's description takes {bytes} bytes, too many")
            }
            Self::System { attempt, error } => write!(f, "cannot {attempt}: {error}"),
        }
    }
}

impl std::error::Error for SegmentError {}

/// A board that other processes can open, and the file that keeps it.
pub struct SharedBoard {
    /// The board.
    pub board: Board,
    file: OwnedFd,
    /// Without pipes, processes wake each other by a futex.
    _bells: Option<BellTower>,
}

impl SharedBoard {
    /// Makes the board of a new job. Nothing of it is left once no process has it open, however they end.
    ///
    /// # Errors
    /// If the system gives no memory, or the description is too long.
    pub fn create(machine: &str) -> Result<Self, SegmentError> {
        let file = rustix::fs::memfd_create("pagemill-fabric", MemfdFlags::CLOEXEC)
            .map_err(system("create shared memory"))?;
        let bytes = Board::WORDS as u64 * 8;
        rustix::fs::ftruncate(&file, bytes).map_err(system("size shared memory"))?;
        let words = map(Some(&file))?;
        let bells = BellTower::build().ok();
        let descriptors = bells.iter().flat_map(BellTower::descriptors);
        for (word, descriptor) in words[Layout::BELLS..].iter().zip(descriptors) {
            word.store(descriptor, Ordering::Relaxed);
        }
        let board = Board::create(words, machine)?;
        Ok(Self {
            board,
            file,
            _bells: bells,
        })
    }

    /// What [`JOB_VARIABLE`] has to say for the processes of the job.
    pub fn path(&self) -> String {
        use std::os::fd::AsRawFd;
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

/// A board of this process alone, on ordinary memory that is never given back.
///
/// # Errors
/// If the system gives no memory, or the description is too long.
pub fn private(machine: &str) -> Result<Board, SegmentError> {
    Board::create(map(None)?, machine)
}

/// The board of the job that this process belongs to: the one that the environment names, otherwise one of its own.
///
/// # Errors
/// If the named one cannot be opened.
pub fn of_this_process() -> Result<Board, SegmentError> {
    let Some(path) = std::env::var_os(JOB_VARIABLE).filter(|path| !path.is_empty()) else {
        return private("");
    };
    let file: File = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .map_err(|error| SegmentError::System {
            attempt: "open the job's shared memory (has `pagemill mpi` ended?)",
            error,
        })?;
    let board = Board::open(map(Some(&file.into()))?)?;
    Ok(Board {
        bells: bells_beside(&board, Path::new(&path)),
        ..board
    })
}

/// The pipes of a board, which its maker holds as it holds the board's file at `path`.
fn bells_beside(board: &Board, path: &Path) -> Option<&'static Bells> {
    let folder = path.parent()?;
    let words = &board.words[Layout::BELLS..Layout::BELLS + STATIONS_MAX];
    let descriptors = words.iter().map(|word| word.load(Ordering::Relaxed));
    let paths: Vec<PathBuf> = descriptors
        .map(|descriptor| folder.join(descriptor.to_string()))
        .collect();
    let has_all = words.iter().all(|word| word.load(Ordering::Relaxed) != 0);
    has_all.then(|| &*Box::leak(Box::new(Bells::new(paths))))
}

/// Maps a board's worth of memory for the rest of the process' life.
fn map(file: Option<&OwnedFd>) -> Result<&'static [AtomicU64], SegmentError> {
    let bytes = Board::WORDS * 8;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    let address = match file {
        Some(file) => {
            let size = rustix::fs::fstat(file).map_err(system("look at the shared memory"))?;
            if (size.st_size as u64) < bytes as u64 {
                let words = size.st_size as usize / 8;
                return Err(SegmentError::TooSmall { words });
            }
            // SAFETY: the kernel picks the place, so nothing else is mapped over.
            unsafe {
                rustix::mm::mmap(
                    std::ptr::null_mut(),
                    bytes,
                    access,
                    MapFlags::SHARED,
                    file.as_fd(),
                    0,
                )
            }
        }
        None => {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            // SAFETY: new memory at a place of the kernel's choice: no mapping is replaced.
            unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes, access, flags) }
        }
    };
    let address = address.map_err(system("map shared memory"))?;
    // SAFETY: `bytes` bytes from the page-aligned `address` are mapped and never unmapped; every bit pattern is a valid
    // atomic; other processes access them by atomic operations only.
    Ok(unsafe { std::slice::from_raw_parts(address.cast::<AtomicU64>(), Board::WORDS) })
}

fn system(attempt: &'static str) -> impl Fn(rustix::io::Errno) -> SegmentError {
    move |error| SegmentError::System {
        attempt,
        error: error.into(),
    }
}
