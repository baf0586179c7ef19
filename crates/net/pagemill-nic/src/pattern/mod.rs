//! Patterns of communication: the benchmarks of the document, and generators of larger programs.
//!
//! Each is a [`Program`](super::Program) that makes its next action when asked, so nothing grows with the number of messages.

mod addresses;
mod bandwidth;
mod dma;
mod exchange;
mod latency;
mod ports;
mod shuffle;

pub use addresses::{AddressOrder, Addresses};
pub use bandwidth::{BandwidthRank, BandwidthSpec};
pub use dma::{DmaReport, DmaSpec, run_dma};
pub use exchange::{ExchangePattern, ExchangeRank, ExchangeSpec};
pub use latency::{LatencyRank, LatencySpec};
pub use ports::{PortsReport, PortsSpec, run_ports};

use super::descriptor::Key;
use super::packet::{Rma, Send};
use super::program::Action;

/// What carries the data of a pattern between two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// RDMA writes, without a library around them.
    Rdma,
    /// Messages of the library.
    Mpi,
}

/// Bytes of a node's memory that a pattern uses: both sides have their buffers from the same address on.
fn reach(source: &Addresses, target: &Addresses) -> u64 {
    source.extent().1.max(target.extent().1)
}

/// A transfer of a pattern, as either level carries it.
struct Transfer {
    peer: u32,
    bytes: u64,
    /// Of a message.
    tag: u64,
    /// Of the peer's memory, for RDMA.
    key: Key,
}

impl Level {
    /// The call that makes `transfer`, from the next address of `source` to the next of `target`.
    fn carry(self, transfer: Transfer, source: &mut Addresses, target: &mut Addresses) -> Action {
        let Transfer {
            peer: dest,
            bytes,
            tag,
            key,
        } = transfer;
        let address = source.next_address();
        match self {
            Self::Mpi => Action::Send(Send {
                dest,
                tag,
                bytes,
                address,
            }),
            Self::Rdma => Action::Write(Rma {
                dest,
                remote_address: target.next_address(),
                key,
                bytes,
                address,
            }),
        }
    }
}
