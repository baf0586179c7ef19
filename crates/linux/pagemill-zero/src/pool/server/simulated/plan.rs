//! What a run is made of: sizes, and what is wrong on purpose.

use pagemill_linux::hugetlb::HugeSize;

pub const MS: u64 = 1_000_000;
pub const PAGE_BYTES: usize = HugeSize::Mib2.bytes();
/// Most pages that a client asks for.
pub const PAGES_MAX: u64 = 7;

/// What is wrong with a world or a daemon on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The proof that no process holds a file always succeeds.
    BelievesThatNoneHolds,
    /// Returned files are called clean as they are.
    SkipsTheScrub,
    /// A user goes on to pay for what was proven free.
    ForgetsToReleaseAQuota,
    /// A connection's leases are forgotten.
    ForgetsLeases,
    /// A message that could not be sent counts as sent.
    BelievesThatAllIsSent,
}
