//! Temporary folders that are removed even if the process that made them is killed: by the next one.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::process::{Identity, own_user};
use crate::{OsError, Result};

/// Folders of this process, for [`remove_all`].
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// As many files may another process make in a folder that is removed, each between the look at it and its end.
const ATTEMPTS: usize = 64;

/// A folder that only this user can enter. Dropping it removes it.
///
/// Its name, `pagemill-KIND-PID-START-NAMESPACE-N`, says whose it is. Making one removes those of the same kind and user whose
/// process has ended.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// A folder in the system's temporary folder.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn new(kind: &str) -> Result<Self> {
        Self::new_in(&std::env::temp_dir(), kind)
    }

    /// A folder in `parent`.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn new_in(parent: &Path, kind: &str) -> Result<Self> {
        for path in abandoned(parent, kind) {
            remove(|| fs::remove_dir_all(&path));
        }
        let prefix = prefix(kind);
        let own = Identity::own()?;
        let mut folders = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut number = 0;
        let path = loop {
            let path = parent.join(format!("{prefix}{own}-{number}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => break path,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => {
                    let what = format!("make a folder in {}", parent.display());
                    return Err(OsError::new(what, error));
                }
            }
        };
        folders.push(path.clone());
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut folders = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        folders.retain(|path| *path != self.path);
        // What stays is removed by the next process.
        remove(|| fs::remove_dir_all(&self.path));
    }
}

/// Whose folder `path` is, if it is one of [`Scratch`].
pub fn owner(path: &Path) -> Option<Identity> {
    let name = path.file_name()?.to_str()?.strip_prefix("pagemill-")?;
    let (_kind, rest) = name.split_once('-')?;
    rest.rsplit_once('-')?.0.parse().ok()
}

/// Removes all folders of this process, which is about to end without dropping them.
pub fn remove_all() {
    let mut folders = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    for path in folders.drain(..) {
        remove(|| fs::remove_dir_all(&path));
    }
}

/// This user's folders of a kind in `parent` whose process has ended. Another process may be removing them.
pub fn abandoned(parent: &Path, kind: &str) -> Vec<PathBuf> {
    let prefix = prefix(kind);
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let is_abandoned = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        let owner = name.and_then(|name| owner_of(name, &prefix));
        owner.is_some_and(|owner| !owner.is_alive()) && is_own_folder(path)
    };
    (entries.map(|entry| entry.path()))
        .filter(is_abandoned)
        .collect()
}

fn prefix(kind: &str) -> String {
    format!("pagemill-{kind}-")
}

/// Has `attempt` remove a folder, again where another process has made a file there meanwhile: one that is being killed still ends the
/// call that it is in.
fn remove(mut attempt: impl FnMut() -> io::Result<()>) {
    let is_filled = |error: io::Error| error.kind() == io::ErrorKind::DirectoryNotEmpty;
    let _ = (0..ATTEMPTS).find(|_| !attempt().is_err_and(is_filled));
}

fn owner_of(name: &str, prefix: &str) -> Option<Identity> {
    let (owner, number) = name.strip_prefix(prefix)?.rsplit_once('-')?;
    number.parse::<u64>().ok()?;
    owner.parse().ok()
}

/// A link, or what another user has put there, is not followed.
fn is_own_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == own_user())
}

#[cfg(test)]
mod tests;
