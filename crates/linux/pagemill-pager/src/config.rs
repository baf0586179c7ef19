use std::num::NonZeroUsize;
use std::path::PathBuf;

use pagemill_policy::paging::{PagingSpec, PagingSpecError};

/// What happens when the store fails or is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenStoreFails {
    /// The program ends with a message.
    #[default]
    Stop,
    /// Threads that wait for the bytes wait on, and the store is tried again.
    Wait,
}

/// How a [`Pager`](crate::Pager) works.
#[derive(Clone, Debug)]
pub struct Config {
    /// Policies, and the frames of all memory together.
    pub paging: PagingSpec,
    /// Threads that answer faults.
    pub handlers: NonZeroUsize,
    /// Parts of the memory with a lock and a share of the frames each. With one, the simulation of one thread is exact.
    pub shards: NonZeroUsize,
    /// What happens when the store fails.
    pub when_store_fails: WhenStoreFails,
    /// Whether what a store returns is checked against what it was given.
    pub verify: bool,
    /// File that gets the page trace of the program; then one handler answers faults, of one shard.
    pub record: Option<PathBuf>,
    /// Folder of the [`Announcement`](crate::Announcement) of the process that started this one: where that is killed, this one ends, and
    /// so do its children of `fork`.
    pub ends_with: Option<PathBuf>,
    /// Whether system calls may touch the memory; needs a privilege.
    pub system_calls: bool,
    /// Whether the thread that faults answers its fault itself; `handlers` is how many may do so at a time. System calls that touch
    /// missing memory fail with `EFAULT`, whatever `system_calls` says.
    pub in_thread: bool,
}

impl Config {
    /// Two handlers and one shard, with the usual policies and `budget_bytes` of frames.
    pub fn new(budget_bytes: u64) -> Self {
        let units = budget_bytes / crate::UNIT_BYTES as u64;
        let two = const { NonZeroUsize::new(2).unwrap() };
        Self {
            paging: PagingSpec::new(u32::try_from(units).unwrap_or(u32::MAX)),
            handlers: two,
            shards: NonZeroUsize::MIN,
            when_store_fails: WhenStoreFails::default(),
            verify: true,
            record: None,
            ends_with: None,
            system_calls: true,
            in_thread: false,
        }
    }

    /// The policies of one shard.
    ///
    /// # Errors
    /// They do not fit each other, or the share of a shard is too small.
    pub fn of_shard(&self) -> Result<PagingSpec, ConfigError> {
        let shards = u32::try_from(self.shards.get()).unwrap_or(u32::MAX);
        let mut spec = self.paging.clone();
        spec.budget_units /= shards;
        spec.check()
            .map_err(|error| ConfigError { error, shards })?;
        Ok(spec)
    }
}

/// Why a configuration cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}{}", if *.shards > 1 { format!(" for each of {} shards", .shards) } else { String::new() })]
pub struct ConfigError {
    error: PagingSpecError,
    shards: u32,
}
