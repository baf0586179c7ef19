//! Where a managed page is, and what moves it: one file for each page manager, and the link and the accounts that they book.
//!
//! A manager is asked about requests in non-decreasing time, answers with times, and books the link. What came to the GPU and
//! what left it has one form, [`Moves`], for TLBs, caches and the host side. Who asks says what sleeps for a page: a manager
//! is generic over it.

mod asked;
pub mod driver;
pub mod events;
pub mod host_link;
pub mod ledger;
mod manager;
mod moves;
pub mod ranges;
#[cfg(test)]
mod ranges_tests;
mod resident;

pub use asked::{Asker, PageRequest, Touch};
pub use driver::{
    DriverCosts, DriverMachine, DriverPages, FaultOrder, FaultSpec, HandlerCounts, Waiter,
};
pub use host_link::HostLink;
pub use manager::{Manager, Place};
pub use moves::{MigrationCounts, Moves};
pub use ranges::{
    AfterFullBuffer, CpuReturn, MergeScope, Ranges, RangesSpec, TransactionChain, Validity,
};
