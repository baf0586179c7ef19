use std::os::fd::OwnedFd;

use pagemill_linux::Result;
use pagemill_linux::channel::Peer;
use pagemill_linux::hugetlb::{Holders, HugeFile};

/// A file of huge pages, as far as the pool knows it. [`HugeFile`] is the kernel's; a test may have simulated ones.
pub trait File {
    /// What a borrower gets.
    type Lent;

    /// Its length in bytes.
    fn bytes(&self) -> usize;

    /// Opens it once more, for a borrower.
    ///
    /// # Errors
    /// Too many open files.
    fn lend(&self, peer: Peer) -> Result<Self::Lent>;

    /// Takes the right to open it again away.
    ///
    /// # Errors
    /// The file is not ours.
    fn revoke(&self) -> Result<()>;

    /// Whether another process has it open or mapped.
    fn holders(&self) -> Holders;

    /// Whether its length is what it was.
    fn is_whole(&self) -> bool;

    /// Gives every page back to the kernel.
    ///
    /// # Errors
    /// The kernel refuses.
    fn empty(&self) -> Result<()>;
}

impl File for HugeFile {
    type Lent = OwnedFd;

    fn bytes(&self) -> usize {
        self.bytes()
    }

    fn lend(&self, peer: Peer) -> Result<OwnedFd> {
        self.lend(peer.user, peer.group)
    }

    fn revoke(&self) -> Result<()> {
        self.revoke()
    }

    fn holders(&self) -> Holders {
        self.holders()
    }

    fn is_whole(&self) -> bool {
        self.has_its_length().unwrap_or(false)
    }

    fn empty(&self) -> Result<()> {
        self.empty()
    }
}
