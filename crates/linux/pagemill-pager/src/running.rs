//! Pagers of this machine, for those who look at them while they run.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use pagemill_linux::scratch::{self, Scratch};
use pagemill_linux::{OsError, children};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};

use crate::{COUNTERS, Count, Counters, Setup};

/// The file that says whose pager it is.
const ABOUT: &str = "about.json";

/// The kind of folder.
const KIND: &str = "pager";

/// What a counter file is called after the number of its process.
const COUNTERS_EXTENSION: &str = "counters";

/// Most bytes of [`ABOUT`] that are read.
const ABOUT_BYTES_MAX: u64 = 64 << 10;

/// Looks for processes that were forked while others ended.
const ROUNDS: usize = 8;

/// Most processes of one program that are read.
const PROCESSES_MAX: usize = 4096;

/// A program as [`ABOUT`] has it.
#[derive(Debug, Serialize, Deserialize)]
struct About {
    program: String,
    setup: Setup,
}

/// A folder that shows a pager to [`running`], until it is dropped.
#[derive(Debug)]
pub struct Announcement {
    folder: Option<Scratch>,
    process: u32,
}

/// A program with a pager, and what all its processes have counted.
#[derive(Clone, Debug)]
pub struct Running {
    /// Its folder, which no other has.
    pub folder: PathBuf,
    /// The process that started the pager.
    pub process: u32,
    /// Its name.
    pub program: String,
    /// The pager's settings.
    pub setup: Setup,
    /// Processes that run, and have counted something.
    pub processes: usize,
    values: Vec<u64>,
}

impl Announcement {
    /// Has the processes of `program` count in a folder of their own, which is entered into `setup`.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn new(program: &str, setup: &mut Setup) -> pagemill_linux::Result<Self> {
        Self::new_in(&std::env::temp_dir(), program, setup)
    }

    fn new_in(parent: &Path, program: &str, setup: &mut Setup) -> pagemill_linux::Result<Self> {
        // Processes of one that was killed know by its folder, which goes with the next line, that they are to end.
        for folder in scratch::abandoned(parent, KIND) {
            end_processes_in(&folder);
        }
        let folder = Scratch::new_in(parent, KIND)?;
        let about = About {
            program: program.to_owned(),
            setup: setup.clone(),
        };
        let path = folder.path().join(ABOUT);
        // Plain values can be written.
        let text = serde_json::to_string(&about).unwrap_or_default();
        std::fs::write(&path, text)
            .map_err(|error| OsError::new(format!("write {}", path.display()), error))?;
        setup.counters = Some(folder.path().to_owned());
        Ok(Self {
            folder: Some(folder),
            process: std::process::id(),
        })
    }
}

impl Announcement {
    /// Ends the processes of the program that still run: those that it forked, and left behind.
    pub fn end_processes(&self) {
        if let Some(folder) = &self.folder {
            end_processes_in(folder.path());
        }
    }
}

/// Ends the processes that count in files of `folder`.
fn end_processes_in(folder: &Path) {
    let Some(folder) = folder.to_str() else {
        return;
    };
    for _ in 0..ROUNDS {
        let found = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let left: Vec<OwnedFd> = found
            .filter_map(|entry| counting_in(folder, entry.file_name().to_str()?))
            .collect();
        if left.is_empty() {
            break;
        }
        children::end(left);
    }
}

/// A process that counts in a file of `folder`.
fn counting_in(folder: &str, process: &str) -> Option<OwnedFd> {
    let number = Pid::from_raw(process.parse().ok()?)?;
    // Before the look: another process may get the number after it.
    let handle = pidfd_open(number, PidfdFlags::empty()).ok()?;
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    maps.contains(folder).then_some(handle)
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // A child of `fork` leaves its parent's folder alone.
        if self.process != std::process::id() {
            std::mem::forget(self.folder.take());
        }
    }
}

impl Running {
    /// What its processes have counted together. What they hold is that of the processes that still run.
    pub fn get(&self, count: Count) -> u64 {
        self.values.get(count as usize).copied().unwrap_or(0)
    }
}

/// The pagers that were announced in `parent` and that this user may look at, by process.
///
/// # Errors
/// `parent` cannot be read.
pub fn running(parent: &Path) -> pagemill_linux::Result<Vec<Running>> {
    let failed = |error| OsError::new(format!("read {}", parent.display()), error);
    let entries = std::fs::read_dir(parent).map_err(failed)?;
    let mut found: Vec<Running> = entries
        .filter_map(|entry| one(entry.ok()?.path()))
        .collect();
    found.sort_by(|a, b| (a.process, &a.folder).cmp(&(b.process, &b.folder)));
    Ok(found)
}

/// The pager of `folder`. What is not whole, as of a program that begins or ends, is none.
fn one(folder: PathBuf) -> Option<Running> {
    let name = folder.file_name()?.to_str()?;
    let owner = (name.starts_with("pagemill-pager-")).then(|| scratch::owner(&folder))??;
    if !owner.is_alive() {
        return None;
    }
    let about: About = serde_json::from_slice(&read_about(&folder).ok()?).ok()?;
    let mut running = Running {
        process: owner.process(),
        program: about.program,
        setup: about.setup,
        processes: 0,
        values: vec![0; COUNTERS.len()],
        folder,
    };
    let entries = std::fs::read_dir(&running.folder).ok()?;
    for entry in entries.take(PROCESSES_MAX).flatten() {
        // A file that is too short is of a process that begins.
        let _ = running.add(&entry.path());
    }
    Some(running)
}

impl Running {
    /// Adds what the process of a counter file has counted.
    fn add(&mut self, path: &Path) -> Option<()> {
        let is_counters = path.extension()? == COUNTERS_EXTENSION;
        let process: u32 = path.file_stem()?.to_str()?.parse().ok()?;
        let file = is_counters.then(|| open_plain(path).ok())??;
        // Read, not mapped: another may shorten the file meanwhile.
        let mut bytes = [0; Counters::FILE_BYTES as usize];
        file.read_exact_at(&mut bytes, 0).ok()?;
        let is_running = Path::new(&format!("/proc/{process}")).exists();
        self.processes += usize::from(is_running);
        let (words, _) = bytes.as_chunks::<8>();
        for ((sum, word), (count, ..)) in self.values.iter_mut().zip(words).zip(COUNTERS) {
            if is_running || !is_held(*count) {
                *sum = sum.saturating_add(u64::from_ne_bytes(*word));
            }
        }
        Some(())
    }
}

/// Whether it ends with its process.
fn is_held(count: Count) -> bool {
    matches!(
        count,
        Count::MappedBytes | Count::ResidentUnits | Count::StoredUnits | Count::StoredBytes
    )
}

fn read_about(folder: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = open_plain(&folder.join(ABOUT))?;
    file.take(ABOUT_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A plain file: no link is followed, and nothing waits for a writer.
fn open_plain(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

#[cfg(test)]
mod tests;
