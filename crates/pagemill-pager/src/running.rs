//! Pagers of this machine, for those who look at them while they run.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use pagemill_linux::OsError;
use pagemill_linux::scratch::{self, Scratch};
use serde::{Deserialize, Serialize};

use crate::{COUNTERS, Count, Counters, Setup};

/// The file that says whose pager it is.
const ABOUT: &str = "about.json";

/// What a counter file is called after the number of its process.
const COUNTERS_EXTENSION: &str = "counters";

/// Most bytes of [`ABOUT`] that are read.
const ABOUT_BYTES_MAX: u64 = 64 << 10;

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
        let folder = Scratch::new("pager")?;
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
mod tests {
    use pagemill_linux::process::Identity;

    use super::*;

    fn about(program: &str) -> String {
        let setup = Setup::new(8 << 20, "compressed");
        let program = program.to_owned();
        serde_json::to_string(&About { program, setup }).expect("plain values")
    }

    fn counters(folder: &Path, process: u32, units: u64) {
        let mut words = [0_u64; Counters::FILE_BYTES as usize / 8];
        words[Count::ReadFaults as usize] = units;
        words[Count::ResidentUnits as usize] = units;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        std::fs::write(folder.join(format!("{process}.counters")), bytes).expect("written");
    }

    #[test]
    fn processes_are_added_up_and_the_dead_hold_nothing() {
        let parent = tempfile::tempdir().expect("a folder");
        let own = Identity::own().expect("/proc is there");
        let folder = parent.path().join(format!("pagemill-pager-{own}-0"));
        std::fs::create_dir(&folder).expect("made");
        std::fs::write(folder.join(ABOUT), about("sort")).expect("written");
        counters(&folder, own.process(), 5);
        // More than any system's greatest process number.
        counters(&folder, 1 << 23, 100);
        let found = running(parent.path()).expect("a folder");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].program, "sort");
        assert_eq!(found[0].process, own.process());
        assert_eq!(found[0].setup.budget_bytes, 8 << 20);
        assert_eq!(found[0].processes, 1);
        assert_eq!(found[0].get(Count::ReadFaults), 105);
        assert_eq!(found[0].get(Count::ResidentUnits), 5);
    }

    #[test]
    fn what_is_no_pager_is_left_out() {
        let parent = tempfile::tempdir().expect("a folder");
        let own = Identity::own().expect("/proc is there");
        let folder = |number| {
            let path = (parent.path()).join(format!("pagemill-pager-{own}-{number}"));
            std::fs::create_dir(&path).expect("made");
            path
        };
        std::fs::write(folder(0).join(ABOUT), "{\"program\": 7}").expect("written");
        let link = folder(1).join(ABOUT);
        let elsewhere = parent.path().join("elsewhere");
        std::fs::write(&elsewhere, about("linked")).expect("written");
        std::os::unix::fs::symlink(&elsewhere, link).expect("a link");
        let _empty = folder(2);
        std::fs::write(parent.path().join("pagemill-pager-1-2"), "").expect("written");
        let ended = folder(3);
        std::fs::write(ended.join(ABOUT), about("ended")).expect("written");
        let (start, rest) = own
            .to_string()
            .split_once('-')
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .expect("parts");
        let dead = parent
            .path()
            .join(format!("pagemill-pager-{start}-1{rest}-0"));
        std::fs::rename(ended, dead).expect("renamed");
        let short = folder(4);
        std::fs::write(short.join(ABOUT), about("begins")).expect("written");
        std::fs::write(short.join("1.counters"), [1; 100]).expect("written");
        let pipe = short.join("2.counters");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .expect("a pipe");
        let found = running(parent.path()).expect("a folder");
        let names: Vec<&str> = found.iter().map(|one| one.program.as_str()).collect();
        assert_eq!(names, ["begins"]);
        assert_eq!(found[0].processes, 0);
        running(&parent.path().join("none")).expect_err("no folder");
    }
}
