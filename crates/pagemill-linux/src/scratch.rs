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
        let prefix = format!("pagemill-{kind}-");
        remove_abandoned(parent, &prefix);
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
        let _ = fs::remove_dir_all(&self.path);
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
        let _ = fs::remove_dir_all(path);
    }
}

/// Removes this user's folders in `parent` whose process has ended. Another process may be doing the same.
fn remove_abandoned(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| owner_of(name, prefix));
        if owner.is_some_and(|owner| !owner.is_alive()) && is_own_folder(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
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
mod tests {
    use super::*;

    fn names(parent: &Path) -> Vec<String> {
        let entries = fs::read_dir(parent).expect("a folder");
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("one").file_name();
        let mut names: Vec<String> = entries
            .map(|entry| name(entry).into_string().expect("UTF-8"))
            .collect();
        names.sort();
        names
    }

    /// This process with another start: it has ended.
    fn dead() -> String {
        let own = Identity::own().expect("/proc is there").to_string();
        let parts: Vec<&str> = own.split('-').collect();
        let started: u64 = parts[1].parse().expect("a number");
        format!("{}-{}-{}", parts[0], started + 1, parts[2])
    }

    #[test]
    fn folders_of_dead_processes_are_removed_and_no_others() {
        let parent = tempfile::tempdir().expect("a folder");
        let own = Identity::own().expect("/proc is there");
        let dead = dead();
        let stay = [
            format!("pagemill-a-{own}-7"),
            format!("pagemill-b-{dead}-0"),
            format!("pagemill-a-{dead}"),
            format!("pagemill-a-{dead}-0-more"),
            "pagemill-a-1-2-3".to_owned(),
            "pagemill-a-x7f".to_owned(),
        ];
        for name in &stay {
            fs::create_dir(parent.path().join(name)).expect("made");
        }
        let abandoned = parent.path().join(format!("pagemill-a-{dead}-0"));
        fs::create_dir(&abandoned).expect("made");
        fs::write(abandoned.join("file"), "text").expect("written");
        let elsewhere = parent.path().join("elsewhere");
        fs::create_dir(&elsewhere).expect("made");
        fs::write(elsewhere.join("precious"), "text").expect("written");
        let link = parent.path().join(format!("pagemill-a-{dead}-1"));
        std::os::unix::fs::symlink(&elsewhere, &link).expect("linked");

        let scratch = Scratch::new_in(parent.path(), "a").expect("made");
        assert!(!abandoned.exists());
        assert!(link.is_symlink() && elsewhere.join("precious").exists());
        for name in &stay {
            assert!(parent.path().join(name).exists(), "{name}");
        }
        let before = names(parent.path()).len();
        drop(scratch);
        assert_eq!(names(parent.path()).len(), before - 1);
    }

    #[test]
    fn folders_are_for_their_user_only_and_apart_from_each_other() {
        let parent = tempfile::tempdir().expect("a folder");
        let first = Scratch::new_in(parent.path(), "a").expect("made");
        let second = Scratch::new_in(parent.path(), "a").expect("made");
        assert_ne!(first.path(), second.path());
        assert_eq!(owner(first.path()), Some(Identity::own().expect("/proc")));
        assert_eq!(owner(parent.path()), None);
        let mode = fs::metadata(first.path()).expect("there").mode() & 0o777;
        assert_eq!(mode, 0o700);
    }
}
