//! When pages are cleared, by whom, and when they may be handed out.
//!
//! Clearing late is two bugs, not one: the new owner may read what the former one left (*leak*), and may write before
//! the engine does (*wipe*). [`Ledger`] holds the state of every page and says what has to happen before a page is
//! mapped. It never looks at a byte: the caller does the clearing and reports it.
//!
//! A *page* is whatever is lent as one: a huge page in the kernel module and in the simulator, a file of huge pages in
//! the user-space pool.

mod error;
mod ledger;
mod mode;
mod settings;
mod state;

pub use error::{Event, Refused};
pub use ledger::{Batch, Fault, Ledger};
pub use mode::Mode;
pub use settings::{Settings, SettingsError, Watermarks};
pub use state::{Counts, JobId, Owner, PageId, PageState};
