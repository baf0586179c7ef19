use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use pagemill_linux::process::ProcessWatch;
use pagemill_linux::scratch;
use rustix::process::{Signal, getpid, kill_process};

/// The process that announced a program, seen from a process of the program.
#[derive(Debug)]
pub struct Starter {
    folder: PathBuf,
    watch: ProcessWatch,
}

impl Starter {
    /// Of the announcement in `folder`; none where it cannot be seen from here.
    pub fn new(folder: PathBuf) -> Option<Self> {
        let watch = ProcessWatch::of(&scratch::owner(&folder)?)?;
        Some(Self { folder, watch })
    }

    /// Readable once it has ended.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }

    /// Kills this process if the starter, which has ended, was killed: at an end of its own, it removes its folder.
    pub fn end_with_it(&self) {
        if self.folder.exists() {
            let _ = kill_process(getpid(), Signal::KILL);
        }
    }
}
