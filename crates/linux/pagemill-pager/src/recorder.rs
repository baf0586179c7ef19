use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use pagemill_linux::clock;
use pagemill_policy::paging::{PagingSpec, Trace, TraceEvent};

/// Writes the page trace of this process, an event at a time, so that a killed program leaves all but the last.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    file: Option<File>,
    bytes: Vec<u8>,
    started_ns: u64,
    /// What a fault costs the thread that faults, beside the handler's time: no part of the program's own.
    fault_cpu_ns: u64,
    /// When the fault before was answered.
    answered: Moment,
}

/// Two clocks of this process.
#[derive(Clone, Copy, Debug)]
struct Moment {
    elapsed_ns: u64,
    /// CPU time of all threads but this one: the program's.
    program_ns: u64,
}

impl Moment {
    fn now() -> Self {
        let own_ns = clock::thread_cpu_ns();
        Self {
            elapsed_ns: clock::monotonic_ns(),
            program_ns: clock::process_cpu_ns().saturating_sub(own_ns),
        }
    }

    /// The program's own time since `before`: its CPU time, so that what else the computer does is no part of it; elapsed time where several
    /// threads compute at a time.
    fn think_ns(&self, before: &Self) -> u64 {
        let elapsed_ns = self.elapsed_ns.saturating_sub(before.elapsed_ns);
        elapsed_ns.min(self.program_ns.saturating_sub(before.program_ns))
    }
}

impl Recorder {
    /// Makes no file yet: many a process of a program has no paged memory.
    pub fn new(path: &Path, spec: &PagingSpec, fault_cpu_ns: u64) -> Self {
        Self {
            path: path.to_owned(),
            file: None,
            bytes: Trace::head(&program(), spec),
            started_ns: clock::monotonic_ns(),
            fault_cpu_ns,
            answered: Moment::now(),
        }
    }

    /// Adds an event to what is written next.
    pub fn note(&mut self, event: &TraceEvent) {
        event.write(&mut self.bytes);
    }

    /// Notes a fault that was read at this moment.
    pub fn fault(&mut self, unit: u64, is_write: bool) {
        let think_ns = Moment::now()
            .think_ns(&self.answered)
            .saturating_sub(self.fault_cpu_ns);
        self.note(&TraceEvent::Fault {
            unit,
            is_write,
            think_ns,
        });
    }

    /// Writes everything, before the fault is answered: the program may end at once.
    ///
    /// # Errors
    /// The file cannot be made or written.
    pub fn write(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(create(&self.path)?);
        }
        if let Some(file) = &mut self.file {
            file.write_all(&self.bytes)?;
        }
        self.bytes.clear();
        Ok(())
    }

    /// Notes that the fault has been answered at this moment; returns the time that the trace covers.
    pub fn answered(&mut self) -> u64 {
        self.answered = Moment::now();
        self.answered.elapsed_ns - self.started_ns
    }
}

/// A new file at `path`, or beside it with the number of this process where another process of the program was first.
fn create(path: &Path) -> io::Result<File> {
    let new = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
    new(path).or_else(|error| {
        if error.kind() != io::ErrorKind::AlreadyExists {
            return Err(error);
        }
        let mut other = path.as_os_str().to_owned();
        other.push(format!(".{}", std::process::id()));
        new(Path::new(&other))
    })
}

/// The name of this program.
fn program() -> String {
    let path = std::env::args_os().next().map(PathBuf::from);
    let name = path.as_deref().and_then(Path::file_name);
    name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests;
