//! Folders beside a target, `.NAME.pagemill-WHAT-PID-N`: locked by the process that made them, so that those of killed processes
//! are known.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::parent_of;

/// New results on their way in; after an exchange, the old ones on their way out.
pub const NEW: &str = "new";
/// Old results that stepped aside.
pub const OLD: &str = "old";

/// A folder beside a target. The lock ends with the process.
pub struct Sibling {
    pub path: PathBuf,
    _lock: Option<File>,
}

impl Sibling {
    /// Makes an empty folder beside `target`.
    pub fn create(target: &Path, what: &str) -> io::Result<Self> {
        const ATTEMPTS: u32 = 1000;
        let pid = std::process::id();
        for attempt in 0..ATTEMPTS {
            let mut name = OsString::from(".");
            name.push(target.file_name().unwrap_or_default());
            name.push(format!(".pagemill-{what}-{pid}-{attempt}"));
            let path = parent_of(target).join(name);
            match fs::create_dir(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            let lock = lock(&path)?;
            // Another process may have taken it for abandoned before it was locked.
            if path.exists() {
                return Ok(Self { path, _lock: lock });
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

/// Locks a folder until the file is closed. `None` if it is locked already, or the file system knows no locks.
pub fn lock(folder: &Path) -> io::Result<Option<File>> {
    let file = File::open(folder)?;
    Ok(file.try_lock().is_ok().then_some(file))
}

/// Removes what killed processes of this user left beside `target`. Old results whose place is empty go back to it.
pub fn remove_abandoned(target: &Path) {
    let parent = parent_of(target);
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        let Some((name, what)) = parts(&entry.file_name()) else {
            continue;
        };
        if !is_own_folder(&path) {
            continue;
        }
        let Ok(Some(_lock)) = lock(&path) else {
            continue;
        };
        let place = parent.join(name);
        // Another process may be doing the same.
        let _ = if what == OLD && !place.exists() {
            fs::rename(&path, &place)
        } else {
            fs::remove_dir_all(&path)
        };
    }
}

/// The target's name and what the folder is for, if it is one of [`Sibling::create`].
fn parts(name: &OsStr) -> Option<(OsString, &'static str)> {
    let bytes = name.as_bytes().strip_prefix(b".")?;
    let is_number = |part: &&[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let mut from_the_end = bytes.rsplitn(3, |byte| *byte == b'-');
    let _attempt = from_the_end.next().filter(is_number)?;
    let _pid = from_the_end.next().filter(is_number)?;
    let rest = from_the_end.next()?;
    [NEW, OLD].into_iter().find_map(|what| {
        let target = rest.strip_suffix(format!(".pagemill-{what}").as_bytes())?;
        (!target.is_empty()).then(|| (OsString::from_vec(target.to_vec()), what))
    })
}

/// A link, or what another user has put there, is not followed.
fn is_own_folder(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == own)
}
