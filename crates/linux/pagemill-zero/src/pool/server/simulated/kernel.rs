//! Files of huge pages as a kernel keeps them: what each page holds, and who can reach it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use pagemill_linux::channel::Peer;
use pagemill_linux::hugetlb::Holders;
use pagemill_linux::{OsError, Result};
use pagemill_testkit::simulated::Random;

use super::plan::{Defect, PAGE_BYTES};
use crate::pool::file::File;

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Zero,
    /// Bytes of one client.
    Of(u64),
}

struct Inode {
    /// A hole is `None`.
    pages: Vec<Option<Content>>,
    is_whole: bool,
    /// Whether it was made clean since it was lent, or was to be.
    is_clean: bool,
    daemon_has_it: bool,
    /// How often it is open elsewhere.
    openings: usize,
    /// How many processes know a path to it.
    paths: usize,
    /// The user who may open it by a path.
    opens_for: Option<u32>,
    /// The user to whom the daemon lent it, until the kernel has said that no process holds it.
    borrower: Option<u32>,
    /// The only user to whom it may be lent again.
    owner: Option<u32>,
}

/// Where files are.
pub struct Kernel {
    pub free_pages: usize,
    /// Whether there are failures that nothing but chance causes.
    pub is_faulty: bool,
    /// The first thing that a daemon did wrong.
    pub wrong: Option<String>,
    /// Whether it says who holds a file.
    grants_leases: bool,
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    random: Random,
    defect: Option<Defect>,
}

pub type SharedKernel = Rc<RefCell<Kernel>>;

impl Kernel {
    pub fn new(free_pages: usize, mut random: Random, defect: Option<Defect>) -> Self {
        Self {
            free_pages,
            is_faulty: true,
            wrong: None,
            grants_leases: !random.one_in(8),
            inodes: BTreeMap::new(),
            next_inode: 0,
            random,
            defect,
        }
    }

    pub fn blame(&mut self, wrong: impl Into<String>) {
        self.wrong.get_or_insert(wrong.into());
    }

    /// Pages of files that the daemon has lent and not got back, by user.
    pub fn lent_pages(&self) -> BTreeMap<u32, usize> {
        let mut lent = BTreeMap::new();
        for inode in self.inodes.values() {
            if let Some(user) = inode.borrower {
                *lent.entry(user).or_default() += inode.pages.len();
            }
        }
        lent
    }

    /// Pages of files that were made clean since they were last lent, and still are.
    pub fn clean_pages(&self) -> usize {
        let is_clean = |inode: &&Inode| {
            inode.daemon_has_it
                && inode.is_clean
                && inode.pages.iter().all(|page| *page == Some(Content::Zero))
        };
        let clean = self.inodes.values().filter(is_clean);
        clean.map(|inode| inode.pages.len()).sum()
    }

    /// Files that the daemon does not have.
    pub fn lost_files(&self) -> usize {
        let lost = |inode: &&Inode| !inode.daemon_has_it;
        self.inodes.values().filter(lost).count()
    }

    fn inode(&mut self, number: u64) -> &mut Inode {
        self.inodes.get_mut(&number).expect("a handle keeps it")
    }

    /// Forgets a file that no process can reach.
    fn release(&mut self, number: u64) {
        let inode = self.inode(number);
        if !inode.daemon_has_it && inode.openings == 0 && inode.paths == 0 {
            self.free_pages += inode.pages.iter().flatten().count();
            self.inodes.remove(&number);
        }
    }

    /// Clears a page for each hole.
    fn fill(&mut self, number: u64) -> Result<()> {
        let inode = self.inode(number);
        let holes = inode.pages.iter().filter(|page| page.is_none()).count();
        if holes > self.free_pages {
            return Err(failure("fill a file", 12));
        }
        self.free_pages -= holes;
        for page in &mut self.inode(number).pages {
            page.get_or_insert(Content::Zero);
        }
        Ok(())
    }

    fn fails(&mut self, many: u64) -> bool {
        self.is_faulty && self.random.one_in(many)
    }
}

pub fn failure(what: &str, errno: i32) -> OsError {
    OsError::new(what, io::Error::from_raw_os_error(errno))
}

/// The daemon's handle.
pub struct SimulatedFile {
    kernel: SharedKernel,
    number: u64,
    bytes: usize,
}

impl SimulatedFile {
    /// A new file that is full of zeroes.
    pub fn create(kernel: &SharedKernel, pages: usize) -> Result<Self> {
        let mut all = kernel.borrow_mut();
        let number = all.next_inode;
        all.next_inode += 1;
        let inode = Inode {
            pages: vec![None; pages],
            is_whole: true,
            is_clean: true,
            daemon_has_it: true,
            openings: 0,
            paths: 0,
            opens_for: None,
            borrower: None,
            owner: None,
        };
        all.inodes.insert(number, inode);
        let filled = all.fill(number);
        drop(all);
        let file = Self {
            kernel: Rc::clone(kernel),
            number,
            bytes: pages * PAGE_BYTES,
        };
        filled.map(|()| file)
    }

    /// Clears `pages` pages of it, and all its holes.
    pub fn clear(&self, pages: usize) -> Result<()> {
        let mut kernel = self.kernel.borrow_mut();
        kernel.fill(self.number)?;
        let inode = kernel.inode(self.number);
        inode.pages.iter_mut().take(pages).for_each(|page| {
            *page = Some(Content::Zero);
        });
        inode.is_clean = true;
        if inode.openings > 0 {
            kernel.blame("a file is cleared that a process has open");
        }
        Ok(())
    }

    /// An engine that is stuck writes to it.
    pub fn soil(&self) {
        let mut kernel = self.kernel.borrow_mut();
        let inode = kernel.inode(self.number);
        inode.pages.fill(Some(Content::Of(u64::MAX)));
        if inode.openings > 0 {
            kernel.blame("a file is lent that a stuck engine writes to");
        }
    }
}

impl File for SimulatedFile {
    type Lent = Opening;

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn lend(&self, peer: Peer) -> Result<Opening> {
        let mut kernel = self.kernel.borrow_mut();
        if kernel.fails(100) {
            return Err(failure("open a file once more", 24));
        }
        let inode = kernel.inode(self.number);
        let is_clean = inode.pages.iter().all(|page| *page == Some(Content::Zero));
        let is_open = inode.openings > 0;
        let is_whole = inode.is_whole;
        inode.is_clean = false;
        inode.openings += 1;
        inode.opens_for = Some(peer.user);
        inode.borrower = Some(peer.user);
        let owner = *inode.owner.get_or_insert(peer.user);
        if owner != peer.user {
            kernel.blame(format!("user {} gets a file of user {owner}", peer.user));
        }
        if !is_clean {
            kernel.blame(format!("user {} gets pages that are not clean", peer.user));
        }
        if !is_whole {
            kernel.blame(format!("user {} gets a file of another length", peer.user));
        }
        if is_open {
            kernel.blame(format!(
                "user {} gets pages that another process has",
                peer.user
            ));
        }
        Ok(Opening::of(&self.kernel, self.number))
    }

    fn revoke(&self) -> Result<()> {
        let mut kernel = self.kernel.borrow_mut();
        if kernel.fails(50) {
            return Err(failure("take a file back", 1));
        }
        let inode = kernel.inode(self.number);
        inode.opens_for = None;
        // It was to be lent, and may have been opened.
        inode.is_clean = false;
        Ok(())
    }

    fn holders(&self) -> Holders {
        let mut kernel = self.kernel.borrow_mut();
        let says = if !kernel.grants_leases {
            Holders::Unknown
        } else if kernel.inode(self.number).openings == 0
            || kernel.defect == Some(Defect::BelievesThatNoneHolds)
        {
            Holders::OnlyUs
        } else {
            Holders::Others
        };
        if says != Holders::Others {
            kernel.inode(self.number).borrower = None;
        }
        says
    }

    fn is_whole(&self) -> bool {
        self.kernel.borrow_mut().inode(self.number).is_whole
    }

    fn empty(&self) -> Result<()> {
        let mut kernel = self.kernel.borrow_mut();
        let inode = kernel.inode(self.number);
        let freed = inode.pages.iter_mut().filter_map(Option::take).count();
        let is_open = inode.openings > 0;
        kernel.free_pages += freed;
        if is_open {
            kernel.blame("pages are taken from a process that has them");
        }
        Ok(())
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        let mut kernel = self.kernel.borrow_mut();
        let inode = kernel.inode(self.number);
        inode.daemon_has_it = false;
        inode.borrower = None;
        kernel.release(self.number);
    }
}

/// An open file of a client: a descriptor, its duplicates, mappings, and messages that they travel in.
#[derive(Clone)]
pub struct Opening(Rc<Opened>);

struct Opened {
    kernel: SharedKernel,
    number: u64,
}

impl Drop for Opened {
    fn drop(&mut self) {
        let mut kernel = self.kernel.borrow_mut();
        kernel.inode(self.number).openings -= 1;
        kernel.release(self.number);
    }
}

impl Opening {
    fn of(kernel: &SharedKernel, number: u64) -> Self {
        let kernel = Rc::clone(kernel);
        Self(Rc::new(Opened { kernel, number }))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Inode) -> T) -> T {
        act(self.0.kernel.borrow_mut().inode(self.0.number))
    }

    pub fn bytes(&self) -> usize {
        self.with(|inode| inode.pages.len() * PAGE_BYTES)
    }

    /// Whether all pages that are there hold `content`.
    pub fn holds(&self, content: Content) -> bool {
        self.with(|inode| inode.pages.iter().flatten().all(|page| *page == content))
    }

    /// Writes to all pages that are there.
    pub fn write(&self, content: Content) {
        let write = |page: &mut Option<Content>| *page = page.and(Some(content));
        self.with(|inode| inode.pages.iter_mut().for_each(write));
    }

    /// Gives the first page back to the kernel.
    pub fn punch(&self) {
        let is_freed = self.with(|inode| inode.pages[0].take().is_some());
        self.0.kernel.borrow_mut().free_pages += usize::from(is_freed);
    }

    /// Makes the file longer or shorter.
    pub fn resize(&self) {
        self.with(|inode| inode.is_whole = false);
    }

    /// A path to the file.
    pub fn path(&self) -> FilePath {
        self.with(|inode| inode.paths += 1);
        FilePath {
            kernel: Rc::clone(&self.0.kernel),
            number: self.0.number,
        }
    }
}

/// A path to a file, which opens it once more if the file's mode allows, and keeps its pages from being free.
pub struct FilePath {
    kernel: SharedKernel,
    number: u64,
}

impl FilePath {
    pub fn open(&self, user: u32) -> Option<Opening> {
        let mut kernel = self.kernel.borrow_mut();
        let inode = kernel.inode(self.number);
        if inode.opens_for != Some(user) {
            return None;
        }
        inode.openings += 1;
        if inode.daemon_has_it && inode.borrower != Some(user) {
            kernel.blame("a file is opened by its path that is not lent");
        }
        drop(kernel);
        Some(Opening::of(&self.kernel, self.number))
    }
}

impl Drop for FilePath {
    fn drop(&mut self) {
        let mut kernel = self.kernel.borrow_mut();
        kernel.inode(self.number).paths -= 1;
        kernel.release(self.number);
    }
}
