use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::ledger::{Ledger, Machine};
use crate::hugetlb::{HugeSize, Stock};
use crate::process::{Identity, own_user};
use crate::{OsError, Result};

/// Where the record is kept. Only root can write in `/run`, and like the stock it does not survive a reboot.
const FOLDER: &str = "/run/pagemill/hugepages";

/// Longer than the kernel takes to gather any stock.
const PATIENCE: Duration = Duration::from_secs(30);

/// The record of one size of pages, locked against other processes of pagemill until this is dropped.
pub(super) struct Record {
    size: HugeSize,
    path: PathBuf,
    /// Unlocked when closed, however the process ends.
    _lock: File,
}

impl Record {
    pub fn open(size: HugeSize) -> Result<Self> {
        Self::open_in(Path::new(FOLDER), size, PATIENCE)
    }

    pub fn open_in(folder: &Path, size: HugeSize, patience: Duration) -> Result<Self> {
        make_own_folder(folder)?;
        let kib = size.bytes() / 1024;
        Ok(Self {
            size,
            path: folder.join(format!("{kib}kB.json")),
            _lock: lock(&folder.join(format!("{kib}kB.lock")), patience)?,
        })
    }

    fn failed(&self, action: &str) -> impl Fn(io::Error) -> OsError {
        let what = format!("{action} {}", self.path.display());
        move |error| OsError::new(what.clone(), error)
    }
}

/// A folder that no other user can enter, so that no other user can hold a lock in it.
fn make_own_folder(folder: &Path) -> Result<()> {
    let failed = |error: io::Error| OsError::new(format!("use folder {}", folder.display()), error);
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let found = fs::symlink_metadata(folder).map_err(failed)?;
    if !found.is_dir() || found.uid() != own_user() || found.mode() & 0o077 != 0 {
        return Err(failed(io::ErrorKind::PermissionDenied.into())
            .with_hint("it is not a folder of this user alone: remove it, and it is made anew"));
    }
    Ok(())
}

/// Waits a bounded time: a holder that hangs must not keep a daemon from ending.
fn lock(path: &Path, patience: Duration) -> Result<File> {
    let failed = |error: io::Error| OsError::new(format!("lock {}", path.display()), error);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.mode(0o600).open(path).map_err(failed)?;
    let until = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                return Err(failed(io::ErrorKind::TimedOut.into()).with_hint(format!(
                    "another process of pagemill changes the stock of huge pages for more than {} s: see `fuser {}`",
                    patience.as_secs(),
                    path.display()
                )));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

impl Machine for Record {
    fn stock(&self) -> Result<Stock> {
        Stock::read(self.size)
    }

    fn set_total(&mut self, pages: usize) -> Result<()> {
        Stock::set_total(self.size, pages)
    }

    fn load(&self) -> Result<Ledger> {
        let text = match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Ledger::default()),
            text => text.map_err(self.failed("read"))?,
        };
        serde_json::from_slice(&text).map_err(|error| {
            self.failed("read")(error.into())
                .with_hint("remove it, and set nr_hugepages to the number that you want")
        })
    }

    fn save(&mut self, ledger: &Ledger) -> Result<()> {
        if ledger.holders.is_empty() && ledger.change.is_none() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(self.failed("remove")(error))
                }
                _ => Ok(()),
            };
        }
        let new = self.path.with_extension("new");
        let write = || -> io::Result<()> {
            let mut options = OpenOptions::new();
            let mut file = (options.write(true).create(true).truncate(true))
                .mode(0o600)
                .open(&new)?;
            file.write_all(&serde_json::to_vec(ledger)?)?;
            fs::rename(&new, &self.path)
        };
        write().map_err(self.failed("write"))
    }

    fn is_alive(&self, holder: &str) -> bool {
        let identity = holder.split('/').next().map(str::parse::<Identity>);
        // A name that is not of this version is left alone.
        !matches!(identity, Some(Ok(identity)) if !identity.is_alive())
    }
}

#[cfg(test)]
mod tests;
