//! What a program leaves behind for `pagemill cuda`.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pagemill_sim::{LaunchReport, Report};
use serde::{Deserialize, Serialize};

use crate::plan::Sites;

/// The layout of the file.
const VERSION: u32 = 5;

/// The raw results of one process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    version: u32,
    /// The executable.
    pub program: String,
    /// The process that started it.
    pub parent: u32,
    /// Whether the program has come to its end. If not, events and the page map are not here, and what a report has beside its
    /// launches may lack the last moments.
    pub is_whole: bool,
    /// What the GPU did.
    pub report: Report,
    /// Launches that did not come to their end, in the order of the first of each.
    pub failed: Vec<FailedLaunches>,
    /// Mistakes of its kernels, if they were looked for.
    pub defects: Vec<DefectFound>,
    /// Where its allocations and launches were made, if the run had a plan.
    pub sites: Option<Sites>,
}

/// Launches of one kernel that failed for the same cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedLaunches {
    /// The kernel by its name in the PTX; the address of its host stub if nothing is registered for it.
    pub kernel: String,
    /// What the program got, such as `cudaErrorInvalidPtx`.
    pub status: String,
    /// What the user got to read.
    pub cause: String,
    /// How many launches.
    pub launches: u64,
}

/// A mistake at one source line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefectFound {
    /// What kind, such as `shared-race`.
    pub defect: String,
    /// The kernel by its name in the PTX; empty for a call of the program.
    pub kernel: String,
    /// `x.cu:7`, or the line of the PTX, or the call.
    pub place: String,
    /// The file, as debug information has it; empty without.
    #[serde(default)]
    pub source: String,
    /// The first block that did it, the first thread if one is to blame, and what happened.
    pub detail: String,
    /// How often it was seen.
    pub count: u64,
}

/// Why results cannot be written or read.
#[derive(Debug)]
pub struct ResultsError {
    path: PathBuf,
    reason: String,
}

impl fmt::Display for ResultsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for ResultsError {}

impl ResultsError {
    fn new(path: &Path, reason: &impl fmt::Display) -> Self {
        let (path, reason) = (path.to_path_buf(), reason.to_string());
        Self { path, reason }
    }
}

impl Results {
    /// Results of `program`, which process `parent` started.
    pub fn new(program: String, parent: u32, report: Report, failed: Vec<FailedLaunches>) -> Self {
        Self {
            version: VERSION,
            program,
            parent,
            is_whole: true,
            report,
            failed,
            defects: Vec::new(),
            sites: None,
        }
    }

    /// Reads those of every process that ran in `folder`, in the order of their process numbers.
    ///
    /// # Errors
    /// If the folder or a file cannot be read, or comes from another version of pagemill.
    pub fn read_all(folder: &Path) -> Result<Vec<Self>, ResultsError> {
        let at = |path: &Path, reason: String| ResultsError::new(path, &reason);
        let entries = std::fs::read_dir(folder).map_err(|error| at(folder, error.to_string()))?;
        let mut found: Vec<(u32, u32, PathBuf)> = entries
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let name = path.file_name()?.to_str()?;
                let name = name.strip_prefix("results-")?.strip_suffix(".json")?;
                let (pid, number) = name.split_once('-')?;
                Some((pid.parse().ok()?, number.parse().ok()?, path))
            })
            .collect();
        found.sort();
        found
            .into_iter()
            .map(|(pid, number, path)| {
                let text = std::fs::read(&path).map_err(|error| at(&path, error.to_string()))?;
                let results: Self = serde_json::from_slice(&text)
                    .map_err(|error| at(&path, format!("no results of this version: {error}")))?;
                if results.version != VERSION {
                    let other = results.version;
                    return Err(at(
                        &path,
                        format!("written in version {other}, this is {VERSION}: the library is of another pagemill"),
                    ));
                }
                let path = launches_file(folder, &format!("{pid}-{number}"));
                let text = std::fs::read(&path).map_err(|error| at(&path, error.to_string()))?;
                Ok(results.with_launches(&text))
            })
            .collect()
    }

    /// The results with the launches of `text`, of which the last may have been cut off.
    fn with_launches(mut self, text: &[u8]) -> Self {
        let launches = serde_json::Deserializer::from_slice(text).into_iter();
        let report = &mut self.report;
        report.launches = launches.map_while(Result::ok).collect();
        if !self.is_whole {
            report.add_up_launches();
        }
        self
    }
}

/// The share of a program's time that keeping its results may take, and the time that it may take in any case.
const TIME_SHARE: u32 = 16;
const TIME_FREE: Duration = Duration::from_millis(50);

/// Writes results while a program runs, so that they are there however it ends: each launch once, the rest anew.
pub struct Journal {
    folder: PathBuf,
    /// The process, and which of its programs it is: `exec` starts another.
    name: String,
    launches: usize,
    begun: Instant,
    spent: Duration,
}

impl Journal {
    /// Begins the results of process `pid`.
    pub fn new(folder: &Path, pid: u32) -> Result<Self, ResultsError> {
        let names = (0u32..).map(|number| format!("{pid}-{number}"));
        let is_free = |name: &String| !launches_file(folder, name).exists();
        let name = { names }.find(is_free).unwrap_or_default();
        let path = launches_file(folder, &name);
        std::fs::write(&path, "").map_err(|error| ResultsError::new(&path, &error))?;
        Ok(Self {
            folder: folder.to_path_buf(),
            name,
            launches: 0,
            begun: Instant::now(),
            spent: Duration::ZERO,
        })
    }

    /// Whether there is time to write what is written anew.
    pub fn has_time(&self) -> bool {
        self.spent <= TIME_FREE + self.begun.elapsed() / TIME_SHARE
    }

    /// Writes the launches behind those that were written.
    pub fn add_launches(&mut self, all: &[LaunchReport]) -> Result<(), ResultsError> {
        let new = all.get(self.launches..).unwrap_or_default();
        self.launches = all.len();
        let path = launches_file(&self.folder, &self.name);
        let write = || {
            let mut text = Vec::new();
            for launch in new {
                serde_json::to_writer(&mut text, launch)?;
            }
            // Opened anew each time: a program may close descriptors that it did not open.
            let mut file = std::fs::File::options().append(true).open(&path)?;
            file.write_all(&text)
        };
        match new {
            [] => Ok(()),
            _ => write().map_err(|error| ResultsError::new(&path, &error)),
        }
    }

    /// Writes the rest in the place of what was written before.
    pub fn write(&mut self, results: &Results) -> Result<(), ResultsError> {
        let begun = Instant::now();
        let path = self.folder.join(format!("results-{}.json", self.name));
        // A reader finds the old one or the new one, and never a part.
        let new = path.with_extension("new");
        let text = serde_json::to_vec(results).map_err(io::Error::from);
        let written = text.and_then(|text| std::fs::write(&new, text));
        let written = written.and_then(|()| std::fs::rename(&new, &path));
        self.spent += begun.elapsed();
        written.map_err(|error| ResultsError::new(&path, &error))
    }

    /// Writes what a program leaves that has come to its end.
    pub fn finish(mut self, mut results: Results) -> Result<(), ResultsError> {
        let launches = std::mem::take(&mut results.report.launches);
        if results.report.sampling.is_some() {
            // Estimates are better at the end.
            let path = launches_file(&self.folder, &self.name);
            std::fs::write(&path, "").map_err(|error| ResultsError::new(&path, &error))?;
            self.launches = 0;
        }
        self.add_launches(&launches)?;
        self.write(&results)
    }
}

fn launches_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("launches-{name}.json"))
}

#[cfg(test)]
mod tests;
