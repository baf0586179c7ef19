//! What a program leaves behind for `pagemill cuda`.

use std::fmt;
use std::path::{Path, PathBuf};

use pagemill_ptx::Finding;
use pagemill_sim::Report;
use serde::{Deserialize, Serialize};

use crate::plan::Sites;

/// The layout of the file.
const VERSION: u32 = 4;

/// The raw results of one process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    version: u32,
    /// The executable.
    pub program: String,
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
    /// The kernel by its name in the PTX.
    pub kernel: String,
    /// `x.cu:7`, or the line of the PTX.
    pub place: String,
    /// The first block that did it, the first thread if one is to blame, and what happened.
    pub detail: String,
    /// How often it was seen.
    pub count: u64,
}

impl DefectFound {
    pub(crate) fn new(finding: &Finding) -> Self {
        let [x, y, z] = finding.block;
        let thread = match finding.thread {
            Some([x, y, z]) => format!(", thread ({x}, {y}, {z})"),
            None => String::new(),
        };
        Self {
            defect: finding.defect.name().to_owned(),
            kernel: finding.kernel.clone(),
            place: finding.place(),
            detail: format!("block ({x}, {y}, {z}){thread}: {}", finding.detail),
            count: finding.count,
        }
    }
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

impl Results {
    /// Results of `program`.
    pub fn new(program: String, report: Report, failed: Vec<FailedLaunches>) -> Self {
        Self {
            version: VERSION,
            program,
            report,
            failed,
            defects: Vec::new(),
            sites: None,
        }
    }

    /// Writes them to `folder`, as those of process `pid`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, folder: &Path, pid: u32) -> Result<(), ResultsError> {
        let path = folder.join(format!("results-{pid}.json"));
        let at = |reason: String| ResultsError {
            path: path.clone(),
            reason,
        };
        let text = serde_json::to_vec(self).map_err(|error| at(error.to_string()))?;
        std::fs::write(&path, text).map_err(|error| at(error.to_string()))
    }

    /// Reads those of every process that ran in `folder`, in the order of their process numbers.
    ///
    /// # Errors
    /// If the folder or a file cannot be read, or comes from another version of pagemill.
    pub fn read_all(folder: &Path) -> Result<Vec<Self>, ResultsError> {
        let at = |path: &Path, reason: String| ResultsError {
            path: path.to_path_buf(),
            reason,
        };
        let entries = std::fs::read_dir(folder).map_err(|error| at(folder, error.to_string()))?;
        let mut found: Vec<(u32, PathBuf)> = entries
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let name = path.file_name()?.to_str()?;
                let pid = name.strip_prefix("results-")?.strip_suffix(".json")?;
                Some((pid.parse().ok()?, path))
            })
            .collect();
        found.sort();
        found
            .into_iter()
            .map(|(_, path)| {
                let text = std::fs::read(&path).map_err(|error| at(&path, error.to_string()))?;
                let results: Self = serde_json::from_slice(&text)
                    .map_err(|error| at(&path, format!("no results of this version: {error}")))?;
                match results.version {
                    VERSION => Ok(results),
                    other => Err(at(
                        &path,
                        format!("written in version {other}, this is {VERSION}: the library is of another pagemill"),
                    )),
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let report = Report {
            time_ns: 7,
            ..Report::default()
        };
        let failed = FailedLaunches {
            kernel: "k".to_owned(),
            status: "cudaErrorInvalidPtx".to_owned(),
            cause: "line 3".to_owned(),
            launches: 5,
        };
        let results = Results::new("a".to_owned(), report, vec![failed]);
        results.write(folder.path(), 20).expect("it can be written");
        Results::new("b".to_owned(), Report::default(), Vec::new())
            .write(folder.path(), 3)
            .expect("it can be written");
        let read = Results::read_all(folder.path()).expect("they can be read");
        assert_eq!(
            read.iter()
                .map(|results| results.program.as_str())
                .collect::<Vec<_>>(),
            ["b", "a"]
        );
        assert_eq!(read[1], results);
        std::fs::write(folder.path().join("results-4.json"), "{}").expect("it can be written");
        assert!(Results::read_all(folder.path()).is_err());
    }
}
