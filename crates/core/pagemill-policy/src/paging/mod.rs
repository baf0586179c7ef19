//! Which parts of a program's memory are in frames when it has fewer frames than memory, and what moves at a fault.
//!
//! The pager and its simulation ask the same [`Ledger`]: both give it faults in order, and both carry out its [`Plan`].
//!
//! ```
//! use pagemill_policy::paging::{Fault, Ledger, PagingSpec, Plan};
//!
//! // Pages of 64 KiB, units of 4 KiB, and room for 128 units.
//! let mut ledger = Ledger::new(&PagingSpec::new(128))?;
//! ledger.extend_to(32);
//! let mut plan = Plan::default();
//! assert_eq!(ledger.fault(0, 3, &mut plan), Fault::Planned);
//! assert_eq!(plan.fetch[0].units.count(), 1);
//! ledger.arrived(0);
//! assert_eq!(ledger.fault(0, 3, &mut plan), Fault::Resident);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ledger;
mod pages;
mod read_ahead;
mod spec;
mod trace;

pub use ledger::{Fault, Ledger, Move, Plan};
pub use read_ahead::{READ_AHEADS, ReadAhead, ReadAheadEntry, Streams, UNITS_AHEAD_MAX};
pub use spec::{PagingSpec, PagingSpecError};
pub use trace::{Trace, TraceError, TraceEvent};

/// Bytes of a unit: the least that moves.
pub const UNIT_BYTES: u32 = 4 << 10;
