//! `--out`: a directory that is either the old results or the new ones, never a mixture.

mod sibling;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use sibling::Sibling;

/// Everything pagemill writes into a results directory, now or in earlier versions.
/// A directory that holds anything else is not ours to replace.
const OWN_FILES: &[&str] = &[
    "results.json",
    "results.csv",
    "results.parquet",
    "report.html",
    "timeline.pftrace",
    "pages.json",
    "findings.sarif",
];

/// The file by which a results directory is known, and how it begins.
const MARKER_FILE: &str = "results.json";
const MARKER: &str = "{\n  \"schema\": \"pagemill-results/";

/// Why results could not be put into a directory. The directory is then what it was before.
#[derive(Debug, thiserror::Error)]
pub enum OutputDirError {
    /// There is something that pagemill did not make.
    #[error(
        "{path} exists and {reason}; name another directory, or move it away first",
        path = path.display()
    )]
    NotOurs {
        /// The refused target.
        path: PathBuf,
        /// What is in the way.
        reason: String,
    },
    /// The file system refused.
    #[error("cannot {action} {path}: {source}", path = path.display())]
    Io {
        /// What was tried: `create`, `write`, `rename`.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file name that is not one of a results directory.
    #[error("`{name}` is no file of a results directory; those are {}", OWN_FILES.join(", "))]
    UnknownFile {
        /// The refused name.
        name: String,
    },
}

/// The steps of putting results in place, for tests that let one of them fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Create,
    WriteFile,
    SyncFile,
    SyncStaging,
    Exchange,
    MoveAside,
    MoveIn,
}

/// Asked before each step; an error is what the step then fails with.
type Fault = Box<dyn FnMut(Step) -> io::Result<()>>;

/// New results on their way into a directory.
///
/// Files are collected in a hidden sibling of the target. [`OutputDir::commit`] puts them in
/// place in one step; dropping without it leaves the target as it was. What is left of a killed
/// process is removed by the next one that stages beside it.
pub struct OutputDir {
    target: PathBuf,
    staging: Sibling,
    fault: Fault,
}

impl OutputDir {
    /// Checks that `target` may become a results directory: it does not exist, or is empty, or
    /// holds results of pagemill and nothing else, and files can be made there. Removes what killed processes left beside it.
    ///
    /// # Errors
    /// [`OutputDirError::NotOurs`] says what is in the way; otherwise a folder cannot be made or written to.
    pub fn check(target: &Path) -> Result<(), OutputDirError> {
        let target = resolve(target)?;
        sibling::remove_abandoned(&target);
        check_resolved(&target)?;
        check_writable(&target)
    }

    /// Checks `target` and makes a place to collect its files.
    ///
    /// # Errors
    /// The target is not ours to replace, or its parent cannot be made or written to.
    pub fn stage(target: &Path) -> Result<Self, OutputDirError> {
        Self::stage_with(target, Box::new(|_| Ok(())))
    }

    fn stage_with(target: &Path, mut fault: Fault) -> Result<Self, OutputDirError> {
        let target = resolve(target)?;
        sibling::remove_abandoned(&target);
        check_resolved(&target)?;
        let parent = parent_of(&target);
        fs::create_dir_all(parent).map_err(io_error("create", parent))?;
        let staging = fault(Step::Create)
            .and_then(|()| Sibling::create(&target, sibling::NEW))
            .map_err(io_error("create a directory beside", &target))?;
        Ok(Self {
            target,
            staging,
            fault,
        })
    }

    /// Writes one file and waits until it is on the disk.
    ///
    /// # Errors
    /// The name is not one of a results directory, or writing fails.
    pub fn write(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), OutputDirError> {
        if !OWN_FILES.contains(&name) {
            return Err(OutputDirError::UnknownFile {
                name: name.to_owned(),
            });
        }
        let path = self.staging.path.join(name);
        let fault = &mut self.fault;
        let result = (|| {
            fault(Step::WriteFile)?;
            let mut file = BufWriter::new(File::create(&path)?);
            fill(&mut file)?;
            file.flush()?;
            fault(Step::SyncFile)?;
            file.get_ref().sync_all()
        })();
        result.map_err(io_error("write", &self.target.join(name)))
    }

    /// Puts the files in place of what the target held. From then on they survive a crash.
    ///
    /// # Errors
    /// The target changed in the meantime, or renaming fails; the target is then as before.
    /// Only if the very last step fails, making the new name survive a crash, it is new already.
    pub fn commit(mut self) -> Result<(), OutputDirError> {
        check_resolved(&self.target)?;
        let result = self.put_in_place();
        result.map_err(io_error("put results into", &self.target))
    }

    fn put_in_place(&mut self) -> io::Result<()> {
        (self.fault)(Step::SyncStaging)?;
        sync_dir(&self.staging.path)?;
        if !self.target.exists() {
            (self.fault)(Step::MoveIn)?;
            fs::rename(&self.staging.path, &self.target)?;
        } else if (self.fault)(Step::Exchange)
            .and_then(|()| self.exchange())
            .is_err()
        {
            self.replace_in_two_steps()?;
        }
        sync_dir(parent_of(&self.target))
    }

    /// Swaps the two directories in one step; the staging name then holds the old results,
    /// which dropping removes.
    #[cfg(target_os = "linux")]
    fn exchange(&self) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        renameat_with(
            CWD,
            &self.staging.path,
            CWD,
            &self.target,
            RenameFlags::EXCHANGE,
        )?;
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn exchange(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// For file systems that cannot swap: the old results step aside and come back on failure.
    fn replace_in_two_steps(&mut self) -> io::Result<()> {
        (self.fault)(Step::MoveAside)?;
        // Locked before it steps aside, so that no other process takes it for abandoned.
        let _lock = sibling::lock(&self.target)?;
        let aside = Sibling::create(&self.target, sibling::OLD)?.path;
        if let Err(error) = fs::rename(&self.target, &aside) {
            fs::remove_dir(&aside)?;
            return Err(error);
        }
        let moved =
            (self.fault)(Step::MoveIn).and_then(|()| fs::rename(&self.staging.path, &self.target));
        if let Err(error) = moved {
            fs::rename(&aside, &self.target)?;
            return Err(error);
        }
        fs::remove_dir_all(&aside)
    }
}

impl Drop for OutputDir {
    fn drop(&mut self) {
        // Nothing is left to tell the caller: the files are either committed or unwanted.
        let _ = fs::remove_dir_all(&self.staging.path);
    }
}

fn io_error<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> OutputDirError + 'a {
    move |source| OutputDirError::Io {
        action,
        path: path.to_owned(),
        source,
    }
}

/// The directory behind symbolic links, or the name as given where there is none yet.
fn resolve(target: &Path) -> Result<PathBuf, OutputDirError> {
    let not_ours = |reason: &str| OutputDirError::NotOurs {
        path: target.to_owned(),
        reason: reason.to_owned(),
    };
    match fs::canonicalize(target) {
        Ok(path) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if target.is_symlink() {
                return Err(not_ours("is a symbolic link to nothing"));
            }
            let absolute = std::path::absolute(target).map_err(io_error("find", target))?;
            // `new/..` would be a directory with no name to rename to.
            match absolute.file_name() {
                Some(_) => Ok(absolute),
                None => Err(not_ours("has no name of its own")),
            }
        }
        Err(source) => Err(io_error("look at", target)(source)),
    }
}

fn check_resolved(target: &Path) -> Result<(), OutputDirError> {
    let not_ours = |reason: String| OutputDirError::NotOurs {
        path: target.to_owned(),
        reason,
    };
    if !target.exists() {
        return Ok(());
    }
    if !target.is_dir() {
        return Err(not_ours("is not a directory".to_owned()));
    }
    if target.parent().is_none() {
        return Err(not_ours("is the root of the file system".to_owned()));
    }
    let entries = fs::read_dir(target)
        .and_then(|entries| {
            entries
                .map(|entry| Ok(entry?.file_name()))
                .collect::<io::Result<BTreeSet<_>>>()
        })
        .map_err(io_error("list", target))?;
    if entries.is_empty() {
        return Ok(());
    }
    if let Some(foreign) = entries.iter().find(|name| !is_own(name)) {
        let foreign = foreign.to_string_lossy();
        return Err(not_ours(format!(
            "holds `{foreign}`, which pagemill did not write"
        )));
    }
    if begins_with(&target.join(MARKER_FILE), MARKER.as_bytes()) {
        Ok(())
    } else {
        Err(not_ours(format!("holds no `{MARKER_FILE}` of pagemill")))
    }
}

fn begins_with(path: &Path, expected: &[u8]) -> bool {
    let mut start = vec![0; expected.len()];
    File::open(path)
        .and_then(|mut file| file.read_exact(&mut start))
        .is_ok()
        && start == expected
}

fn is_own(name: &OsStr) -> bool {
    OWN_FILES.iter().any(|own| name == OsStr::new(own))
}

/// The parent of a resolved path; the root is refused before.
fn parent_of(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// Makes the names in a directory survive a crash, where the system can.
fn sync_dir(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(path)?.sync_all()
    } else {
        Ok(())
    }
}

/// Makes a directory where the first one of `target` would be made, and removes it.
fn check_writable(target: &Path) -> Result<(), OutputDirError> {
    let mut first = target;
    while let Some(parent) = first.parent().filter(|parent| !parent.exists()) {
        first = parent;
    }
    Sibling::create(first, sibling::NEW)
        .and_then(|tried| fs::remove_dir(&tried.path))
        .map_err(io_error("create a directory beside", first))
}

#[cfg(test)]
mod tests;
