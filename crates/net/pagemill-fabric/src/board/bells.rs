//! What wakes a sleeping process: a pipe for each station.
//!
//! A process that writes to a pipe tells the kernel that it is about to wait itself, so the sleeper gets its core. Two ranks that
//! answer each other thus share a core. A futex wakes the sleeper on a core of its own, which takes an interrupt
//! of another processor: five times the CPU time and more on a virtual machine.

use std::fs::{File, OpenOptions};
use std::io::{PipeReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::STATIONS_MAX;

/// Wakes of one station that are taken at once.
const WAKES: usize = 64;

/// The pipes, as the job's starter holds them.
pub struct BellTower {
    readers: Vec<PipeReader>,
}

impl BellTower {
    /// A pipe for each station.
    ///
    /// # Errors
    /// If the system gives none.
    pub fn build() -> std::io::Result<Self> {
        let pipes = (0..STATIONS_MAX).map(|_| std::io::pipe().map(|(reader, _)| reader));
        Ok(Self {
            readers: pipes.collect::<std::io::Result<_>>()?,
        })
    }

    /// The descriptor of each station's pipe.
    pub fn descriptors(&self) -> impl Iterator<Item = u64> + '_ {
        (self.readers.iter()).map(|reader| u64::from(reader.as_raw_fd().unsigned_abs()))
    }
}

/// The pipes, as a process of the job opens them: each when it is first used.
pub struct Bells {
    paths: Vec<PathBuf>,
    opened: [OnceLock<Option<File>>; STATIONS_MAX],
}

impl Bells {
    /// Those at `paths`, one for each station.
    pub fn new(paths: Vec<PathBuf>) -> Self {
        Self {
            paths,
            opened: [const { OnceLock::new() }; STATIONS_MAX],
        }
    }

    /// The pipe of a station; `None` if it cannot be opened.
    pub fn of(&self, index: u32) -> Option<Bell<'_>> {
        let index = index as usize;
        let opened = self.opened.get(index)?;
        let open = || {
            let mut options = OpenOptions::new();
            let options = options.read(true).write(true);
            let path = self.paths.get(index)?;
            options.custom_flags(libc::O_NONBLOCK).open(path).ok()
        };
        opened.get_or_init(open).as_ref().map(Bell)
    }
}

/// The pipe of one station.
#[derive(Clone, Copy)]
pub struct Bell<'a>(&'a File);

impl Bell<'_> {
    /// Wakes the thread that sleeps there. A full pipe holds enough wakes already.
    pub fn ring(self) {
        let _ = { self.0 }.write(&[0]);
    }

    /// Sleeps until it rings, or for `span`.
    pub fn sleep(self, span: &Timespec) {
        let mut descriptors = [PollFd::new(self.0, PollFlags::IN)];
        if poll(&mut descriptors, Some(span)).is_ok_and(|ready| ready > 0) {
            let _ = { self.0 }.read(&mut [0; WAKES]);
        }
    }
}

#[cfg(test)]
mod tests;
