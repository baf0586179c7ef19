//! GOAL: the textual schedules of LogGOPSim (Hoefler, Schneider, Lumsdaine, HPDC 2010), replayed over the interface model.
//!
//! A schedule lists the operations of each rank (`send`, `recv`, `calc` in nanoseconds) and which of them wait for which.
//! `cpu` and `nic` are read and not used: a rank has one processor and one interface.

mod parse;
mod run;
mod schedule;

pub use parse::{GoalError, parse};
pub use run::GoalRank;
pub use schedule::{Goal, GoalOperation, Schedule};
