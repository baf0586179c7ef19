use std::path::PathBuf;

use pagemill_linux::hugetlb::HugeSize;

/// Whether returned memory may be lent again without a detour through the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recycle {
    /// Never: every lease gets fresh files, which the kernel clears.
    Never,
    /// To the user who had it, after proof that no process holds it, cleared by the engine.
    SameUser,
}

/// Memory that a processor with page tables of four levels can address.
const MEMORY_BYTES_MAX: usize = 1 << 46;

/// Most pages of one user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quota {
    /// Half of the pool, so that no user can take what all others need; root and the pool's own user may have all of it.
    Half,
    /// The same number for every user.
    Pages(usize),
}

impl Quota {
    /// Most pages of `user` in a pool of `pool_pages` pages that runs as `own_user`.
    pub fn pages_of(self, user: u32, own_user: u32, pool_pages: usize) -> usize {
        match self {
            Self::Pages(pages) => pages,
            Self::Half if user == 0 || user == own_user => pool_pages,
            Self::Half => (pool_pages / 2).max(1),
        }
    }
}

/// Files of one length that the pool keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShelfSpec {
    /// Pages of each file.
    pub file_pages: usize,
    /// How many files.
    pub files: usize,
}

/// How a pool is set up.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where clients connect.
    pub socket: PathBuf,
    /// Who may connect, as the mode of the socket file.
    pub socket_mode: u32,
    /// Size of the pages.
    pub size: HugeSize,
    /// What is kept.
    pub shelves: Vec<ShelfSpec>,
    /// Most pages that one user may have, lent or not yet let go of.
    pub quota: Quota,
    /// Whether returned memory may be lent again directly.
    pub recycle: Recycle,
}

/// Why a configuration makes no sense.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ConfigError {
    /// Nothing to lend.
    #[error("a pool of 0 pages lends nothing: ask for 1 or more")]
    Empty,
    /// More memory than a machine has.
    #[error("{pages} pages of {size} are more memory than a machine has: lend fewer")]
    TooLarge {
        /// Pages on all shelves.
        pages: usize,
        /// Size of a page.
        size: HugeSize,
    },
    /// The quota is zero.
    #[error("a quota of 0 pages lets no user borrow: allow 1 or more")]
    NoQuota,
}

impl Config {
    /// A pool of `pages` pages at `socket`, for all users, on the usual shelves.
    pub fn new(socket: PathBuf, size: HugeSize, pages: usize) -> Self {
        Self {
            socket,
            socket_mode: 0o666,
            size,
            shelves: Self::usual_shelves(size, pages),
            quota: Quota::Half,
            recycle: Recycle::SameUser,
        }
    }

    /// Most memory in files of 64 MiB, which are few to map; an eighth in single pages for small requests.
    pub fn usual_shelves(size: HugeSize, pages: usize) -> Vec<ShelfSpec> {
        const LARGE_BYTES: usize = 64 << 20;
        let large_pages = (LARGE_BYTES / size.bytes()).max(1);
        let large_files = if large_pages == 1 {
            0
        } else {
            (pages - pages / 8) / large_pages
        };
        let shelves = [
            ShelfSpec {
                file_pages: large_pages,
                files: large_files,
            },
            ShelfSpec {
                file_pages: 1,
                files: pages - large_files * large_pages,
            },
        ];
        shelves
            .into_iter()
            .filter(|shelf| shelf.files > 0)
            .collect()
    }

    /// Pages on all shelves.
    pub fn pages(&self) -> usize {
        let pages = self
            .shelves
            .iter()
            .map(|shelf| shelf.file_pages.saturating_mul(shelf.files));
        pages.fold(0, usize::saturating_add)
    }

    /// Checks what no type can.
    ///
    /// # Errors
    /// Nothing to lend, no user to lend to, or more than a machine can have.
    pub fn check(&self) -> Result<(), ConfigError> {
        let pages = self.pages();
        if pages == 0 {
            return Err(ConfigError::Empty);
        }
        if pages > MEMORY_BYTES_MAX / self.size.bytes() {
            return Err(ConfigError::TooLarge {
                pages,
                size: self.size,
            });
        }
        if self.quota == Quota::Pages(0) {
            return Err(ConfigError::NoQuota);
        }
        Ok(())
    }
}
