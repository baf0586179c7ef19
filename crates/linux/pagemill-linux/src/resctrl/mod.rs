//! The kernel's file system for caches that hardware divides: Intel's Cache Allocation Technology, AMD's Quality of Service
//! and Arm's MPAM (Documentation/filesystems/resctrl.rst).

mod info;
mod tree;

pub use info::{CacheInfo, parse_domains};
pub use tree::{Mounted, Tree};

use crate::process::Identity;
use crate::{OsError, Result};

/// Where the file system is mounted.
pub const MOUNT: &str = "/sys/fs/resctrl";

/// Groups of pagemill start so.
const PREFIX: &str = "pagemill-";

/// A group of tasks with its own part of the cache. It is removed when this is dropped; its tasks then belong to the default
/// group again.
#[derive(Debug)]
pub struct Group {
    tree: Box<dyn Tree>,
    name: String,
    info: CacheInfo,
}

impl Group {
    /// A new group with the whole cache. Its name has its owner, so that it is known when that is killed.
    ///
    /// # Errors
    /// There is no such file system, it divides no cache, or it has no group left.
    pub fn new(tree: Box<dyn Tree>, owner: Identity) -> Result<Self> {
        let info = CacheInfo::read(&*tree)?;
        let name = format!("{PREFIX}{owner}");
        tree.make_folder(&name).map_err(|error| {
            let is_full = error.raw_os_error() == Some(libc::ENOSPC);
            let failed = failure(&*tree, format!("make the group {name} of resctrl"), error);
            if is_full {
                failed.with_hint(format!(
                    "the processor has {} classes of service, the default group included, and all are in use: end a task, or remove a group in {MOUNT}",
                    info.classes
                ))
            } else {
                failed
            }
        })?;
        Ok(Self { tree, name, info })
    }

    /// What is known of the cache.
    pub fn info(&self) -> &CacheInfo {
        &self.info
    }

    /// Its tasks may fill the ways of `mask` only, in every cache of the machine.
    ///
    /// # Errors
    /// The kernel refuses the mask.
    pub fn set_ways(&self, mask: u64) -> Result<()> {
        for resource in &self.info.resources {
            let domains: Vec<String> = (self.info.domains.iter())
                .map(|domain| format!("{domain}={mask:x}"))
                .collect();
            let line = format!("{resource}:{}\n", domains.join(";"));
            let written = self.tree.write(&format!("{}/schemata", self.name), &line);
            written.map_err(|error| {
                let what = format!("give {} the ways {mask:#x} of {resource}", self.name);
                failure(&*self.tree, what, error)
            })?;
        }
        Ok(())
    }

    /// Takes in a task: a thread, and what it starts from now on.
    ///
    /// # Errors
    /// The kernel refuses, or the task has ended ([`OsError::errno`] is `ESRCH`).
    pub fn add(&self, task: u32) -> Result<()> {
        let written = self
            .tree
            .write(&format!("{}/tasks", self.name), &format!("{task}\n"));
        written.map_err(|error| {
            failure(
                &*self.tree,
                format!("move task {task} to {}", self.name),
                error,
            )
        })
    }

    /// Its tasks.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn tasks(&self) -> Result<Vec<u32>> {
        let path = format!("{}/tasks", self.name);
        let text = self.tree.read(&path);
        let text = text.map_err(|error| OsError::new(format!("read {path} of resctrl"), error))?;
        Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // If it is gone already, that is what is wanted.
        let _ = self.tree.remove_folder(&self.name);
    }
}

/// Removes the groups whose owner has ended without removing them, as after `kill -9`; how many.
///
/// # Errors
/// There is no such file system, or a group cannot be removed.
pub fn remove_abandoned(tree: &dyn Tree) -> Result<usize> {
    let names = tree
        .folders()
        .map_err(|error| OsError::new("list the groups of resctrl", error))?;
    let mut removed = 0;
    for name in names {
        let owner = name.strip_prefix(PREFIX).map(str::parse::<Identity>);
        let Some(Ok(owner)) = owner else {
            continue;
        };
        if owner.is_alive() {
            continue;
        }
        match tree.remove_folder(&name) {
            Ok(()) => removed += 1,
            // Another one was faster.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(OsError::new(
                    format!("remove the group {name} of resctrl"),
                    error,
                ));
            }
        }
    }
    Ok(removed)
}

/// An error with what the kernel says of it: system calls have room for a number only.
fn failure(tree: &dyn Tree, what: String, error: std::io::Error) -> OsError {
    let said = tree.read("info/last_cmd_status").unwrap_or_default();
    let failed = OsError::new(what, error);
    match said.trim() {
        "" | "ok" => failed,
        said => failed.with_hint(format!("the kernel says: {said}")),
    }
}
