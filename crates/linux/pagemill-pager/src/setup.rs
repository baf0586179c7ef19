use std::fs::File;
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::str::FromStr;

use pagemill_linux::OsError;
use pagemill_policy::migration::POLICIES;
use pagemill_policy::paging::READ_AHEADS;
use pagemill_policy::residency::{EVICTIONS, GROWTHS};
use pagemill_types::{PageSize, UnknownName};
use serde::{Deserialize, Serialize};

use crate::remote::{Address, AddressError, Remote, RemoteError, Token, TokenError};
use crate::store::{Compressed, Directory, Store, StoreError, Tiered};
use crate::{Config, ConfigError, Counters, Pager, PagerError, UNIT_BYTES, WhenStoreFails};

/// The environment's variable that carries a [`Setup`] to a program, as JSON.
pub const SETUP_VARIABLE: &str = "PAGEMILL_PAGER";

/// Where units go that have no frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Compressed memory of the process.
    Compressed,
    /// A file in a folder.
    Folder(PathBuf),
    /// A page server.
    Server(Address),
    /// Compressed memory of at most so many bytes, then another place.
    CompressedThen(u64, Box<Place>),
}

impl Place {
    /// Parses `compressed`, a folder, `tcp://HOST:PORT`, `unix:PATH`, or `compressed:BYTES,` before one of these.
    ///
    /// # Errors
    /// The address of a server or the number of bytes is none.
    pub fn parse(text: &str) -> Result<Self, SetupError> {
        if let Some((bytes, rest)) =
            (text.strip_prefix("compressed:")).and_then(|rest| rest.split_once(','))
        {
            let bytes = bytes
                .parse()
                .map_err(|_| SetupError::Size(bytes.to_owned()))?;
            return Ok(Self::CompressedThen(bytes, Box::new(Self::parse(rest)?)));
        }
        if text == "compressed" {
            return Ok(Self::Compressed);
        }
        if text.starts_with("tcp:") || text.starts_with("unix:") {
            return Ok(Self::Server(Address::from_str(text)?));
        }
        if text.contains("://") {
            return Err(SetupError::Scheme(text.to_owned()));
        }
        Ok(Self::Folder(PathBuf::from(text)))
    }
}

impl Place {
    /// The page server of it, if there is one.
    pub fn server(&self) -> Option<&Address> {
        match self {
            Self::Server(address) => Some(address),
            Self::CompressedThen(_, then) => then.server(),
            Self::Compressed | Self::Folder(_) => None,
        }
    }
}

/// All that a pager is made of, as plain values: what a command hands to the program that it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Frames, in bytes.
    pub budget_bytes: u64,
    /// Where the rest goes, as [`Place::parse`] reads it.
    pub to: String,
    /// Most bytes that it may take up there.
    pub limit_bytes: u64,
    /// What is evicted as one, in bytes.
    pub page_bytes: u64,
    /// Migration policy.
    pub policy: String,
    /// Gaps of fewer bytes than this move along.
    pub gap_threshold_bytes: u32,
    /// Growth policy.
    pub growth: String,
    /// Eviction policy.
    pub eviction: String,
    /// Read-ahead policy.
    pub read_ahead: String,
    /// Threads that answer faults.
    pub handlers: NonZeroUsize,
    /// Whether each thread answers its own faults; then `handlers` is how many may do so at a time.
    pub in_thread: bool,
    /// Parts with a lock and a share of the frames each.
    pub shards: NonZeroUsize,
    /// Whether a program waits for a store that fails, rather than being stopped.
    pub waits_for_store: bool,
    /// Whether bytes from the store are checked.
    pub verify: bool,
    /// Smallest allocation that is paged.
    pub least_bytes: u64,
    /// Name at a page server.
    pub tenant: String,
    /// File with the secret of a page server.
    pub token_file: Option<PathBuf>,
    /// File that gets the page trace.
    pub record: Option<PathBuf>,
    /// Folder in which each process counts in a file of its own.
    pub counters: Option<PathBuf>,
}

/// Why a [`Setup`] makes no pager.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// No policy has this name.
    #[error(transparent)]
    Policy(#[from] UnknownName),
    /// No page size.
    #[error("{0}")]
    Page(String),
    /// No number of bytes.
    #[error("{0} is no number of bytes")]
    Size(String),
    /// No store is of this kind.
    #[error("{0} is no place for pages: use compressed, a folder, tcp://HOST:PORT or unix:PATH")]
    Scheme(String),
    /// The parts do not fit together.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No address.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// No secret.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// A page server needs a secret.
    #[error("a page server needs a token: name a file that holds it with --token-file")]
    NoToken,
    /// The server is of no use.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The store is of no use.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Linux refuses.
    #[error(transparent)]
    Os(#[from] OsError),
    /// The pager does not start.
    #[error(transparent)]
    Pager(#[from] PagerError),
    /// The environment holds something else.
    #[error("the variable {SETUP_VARIABLE} is not what `pagemill pager run` sets: {0}")]
    Variable(serde_json::Error),
}

impl Setup {
    /// The usual policies with this budget and place.
    pub fn new(budget_bytes: u64, to: &str) -> Self {
        let usual = Config::new(budget_bytes);
        Self {
            budget_bytes,
            to: to.to_owned(),
            limit_bytes: u64::MAX,
            page_bytes: usual.paging.migration.page.bytes(),
            policy: usual.paging.migration.policy.name.to_owned(),
            gap_threshold_bytes: 0,
            growth: usual.paging.growth.name.to_owned(),
            eviction: usual.paging.eviction.name.to_owned(),
            read_ahead: usual.paging.read_ahead.name.to_owned(),
            handlers: usual.handlers,
            in_thread: usual.in_thread,
            shards: usual.shards,
            waits_for_store: false,
            verify: usual.verify,
            least_bytes: 128 << 10,
            tenant: "default".to_owned(),
            token_file: None,
            record: None,
            counters: None,
        }
    }

    /// As it comes through the environment.
    ///
    /// # Errors
    /// It is something else.
    pub fn from_json(text: &str) -> Result<Self, SetupError> {
        serde_json::from_str(text).map_err(SetupError::Variable)
    }

    /// For the environment.
    pub fn to_json(&self) -> String {
        // Numbers, text and paths of this process: they can be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The configuration, checked.
    ///
    /// # Errors
    /// A name or a number is wrong.
    pub fn config(&self) -> Result<Config, SetupError> {
        let mut config = Config::new(self.budget_bytes);
        let paging = &mut config.paging;
        paging.migration.page =
            PageSize::new(self.page_bytes).map_err(|error| SetupError::Page(error.to_string()))?;
        paging.migration.policy = POLICIES.find(&self.policy)?;
        paging.migration.gap_threshold_bytes = self.gap_threshold_bytes;
        paging.growth = GROWTHS.find(&self.growth)?;
        paging.eviction = EVICTIONS.find(&self.eviction)?;
        paging.read_ahead = READ_AHEADS.find(&self.read_ahead)?;
        config.handlers = self.handlers;
        config.in_thread = self.in_thread;
        config.shards = self.shards;
        config.verify = self.verify;
        config.record.clone_from(&self.record);
        config.ends_with.clone_from(&self.counters);
        if self.record.is_some() {
            config.handlers = NonZeroUsize::MIN;
            config.shards = NonZeroUsize::MIN;
        }
        if self.waits_for_store {
            config.when_store_fails = WhenStoreFails::Wait;
        }
        config.of_shard()?;
        Ok(config)
    }

    /// The store, ready for use.
    ///
    /// # Errors
    /// It cannot be reached or written to.
    pub fn store(&self) -> Result<Box<dyn Store>, SetupError> {
        self.store_at(&Place::parse(&self.to)?)
    }

    fn store_at(&self, place: &Place) -> Result<Box<dyn Store>, SetupError> {
        Ok(match place {
            Place::Compressed => Box::new(Compressed::new(self.limit_bytes)),
            Place::Folder(folder) => Box::new(Directory::open(folder, self.limit_bytes)?),
            Place::Server(address) => {
                let file = self.token_file.as_deref().ok_or(SetupError::NoToken)?;
                let token = Token::read(file)?;
                let units = self.budget_bytes / UNIT_BYTES as u64;
                Box::new(Remote::connect(address, &self.tenant, &token)?.with_twins(units))
            }
            Place::CompressedThen(bytes, then) => {
                let first = Box::new(Compressed::new(*bytes));
                Box::new(Tiered::new(first, self.store_at(then)?))
            }
        })
    }

    /// Starts the pager.
    ///
    /// # Errors
    /// Something of it is wrong or refused.
    pub fn start(&self) -> Result<Pager, SetupError> {
        let file = self.counters_file()?;
        let counters = Counters::new(file.as_ref().map(|file| file.as_fd()))?;
        Ok(Pager::start(&self.config()?, self.store()?, counters)?)
    }

    fn counters_file(&self) -> Result<Option<File>, SetupError> {
        let Some(folder) = &self.counters else {
            return Ok(None);
        };
        let path = folder.join(format!("{}.counters", std::process::id()));
        let failed = |error| OsError::new(format!("make {}", path.display()), error);
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .map_err(failed)?;
        file.set_len(Counters::FILE_BYTES).map_err(failed)?;
        Ok(Some(file))
    }
}

#[cfg(test)]
mod tests;
