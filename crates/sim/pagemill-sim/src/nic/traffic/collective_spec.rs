//! A program of one collective operation, again and again.

use pagemill_types::Picos;

use super::block::{Block, Exchange};
use super::collective::{ARRAY, Algorithm, Collective, DATA, Operation, PairBytes, Transport};
use super::messages::Group;

/// A collective operation of all ranks, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveSpec {
    /// What it is.
    pub kind: CollectiveKind,
    /// How many ranks take part.
    pub ranks: u32,
    /// Length of the vector; of an exchange of all with all, bytes from each rank to each other.
    pub bytes: u64,
    /// How often.
    pub iterations: u64,
    /// Computation before each.
    pub compute: Picos,
    /// How messages are cut.
    pub transport: Transport,
}

/// A collective operation without its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveKind {
    /// See [`Operation::AllReduce`].
    AllReduce(Algorithm),
    /// See [`Operation::ReduceScatter`].
    ReduceScatter,
    /// See [`Operation::AllGather`].
    AllGather,
    /// See [`Operation::AllToAll`].
    AllToAll,
}

impl CollectiveSpec {
    pub(super) fn check(&self) -> Result<(), String> {
        match self.kind {
            CollectiveKind::AllReduce(Algorithm::Hierarchical(node))
                if node == 0 || !self.ranks.is_multiple_of(node) =>
            {
                Err(format!(
                    "{} ranks are not whole nodes of {node}: `ranks` has to be a multiple of `node_ranks`",
                    self.ranks
                ))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn blocks(&self) -> impl Iterator<Item = Block> + use<> {
        let spec = *self;
        (0..spec.iterations).flat_map(move |_| {
            let exchange = Block::exchange(Exchange::Collective(spec.collective()));
            [Block::compute(spec.compute), exchange]
        })
    }

    fn collective(&self) -> Collective {
        let operation = match self.kind {
            CollectiveKind::AllReduce(algorithm) => Operation::AllReduce(algorithm, self.bytes),
            CollectiveKind::ReduceScatter => Operation::ReduceScatter(self.bytes),
            CollectiveKind::AllGather => Operation::AllGather(self.bytes),
            CollectiveKind::AllToAll => {
                Operation::AllToAll(PairBytes::Same(self.bytes), DATA + ARRAY)
            }
        };
        Collective {
            operation,
            group: Group::all(self.ranks),
            transport: self.transport,
            address: DATA,
        }
    }
}
