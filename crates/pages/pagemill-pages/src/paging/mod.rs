//! A program whose memory is paged: its page trace, or a pattern, replayed under other rules and on other machines.
//!
//! The ledger that decides is the pager's own ([`pagemill_policy::paging`]). What it moves is counted, and timed by the costs of a
//! machine. With the rules of the recording, one thread and one handler, every fault and every byte is the pager's; under other rules
//! a trace knows of the touches only that were faults when it was recorded.

mod costs;
mod memory;
mod recording;
mod replay;
mod touches;

pub use costs::{BatchCost, PagerMachine, StoreCost};
pub use replay::{PagingReport, replay, replay_recorded};
pub use touches::{Order, Pattern, Touches};
