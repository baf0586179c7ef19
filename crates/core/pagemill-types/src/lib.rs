//! The words every other crate speaks: addresses, page sizes, byte counts, times, byte ranges, registries of names, numbers that look random,
//! structures that check themselves, and a hint to the caches of the host.
//!
//! No dependency, no input or output. Mixing two kinds of number does not compile.
#![deny(unsafe_code)]

mod address;
mod clock;
mod invariants;
mod mix;
mod page;
mod picos;
mod range;
mod range_set;
mod registry;
mod warming;

pub use address::VirtAddr;
pub use clock::{Bandwidth, Clock};
pub use invariants::{CheckSchedule, Invariants, first_broken};
pub use mix::{GOLDEN_GAMMA, mix64, random64};
pub use page::{PageNumber, PageSize, PageSizeError};
pub use picos::Picos;
pub use range::PageRange;
pub use range_set::{Missing, RangeSet};
pub use registry::{Lent, Named, Registry, UnknownName, with_lent};
pub use warming::{WARPS_HELD, warm};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
