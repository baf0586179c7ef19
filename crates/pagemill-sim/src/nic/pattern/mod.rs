//! Patterns of communication: the benchmarks of the document, and generators of larger programs.
//!
//! Each is a [`Program`](super::Program) that makes its next action when asked, so nothing grows with the number of messages.

mod addresses;
mod bandwidth;
mod exchange;
mod latency;
mod ports;

pub use addresses::{AddressOrder, Addresses};
pub use bandwidth::{BandwidthRank, BandwidthSpec};
pub use exchange::{ExchangePattern, ExchangeRank, ExchangeSpec};
pub use latency::{LatencyRank, LatencySpec};
pub use ports::{PortsReport, PortsSpec, run_ports};

/// What carries the data of a pattern between two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// RDMA writes, without a library around them.
    Rdma,
    /// Messages of the library.
    Mpi,
}
