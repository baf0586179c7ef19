//! Generated programs: collectives, training and inference of language models, and classic patterns.
//!
//! A rank goes through [`Block`]s, one after the other. A block computes, exchanges messages, or does both side by side; an
//! exchange has lanes, and a lane has phases: messages that start together, and the next phase when all of them are over.
//! Blocks and phases are made when they are due, so memory does not grow with the number of messages. [`TrafficRank`] runs them
//! over the simulated interface; [`write_goal`] writes the same program as a GOAL schedule.
//!
//! Ranks name no message: the n-th send of one rank to another under a tag is for the n-th receive there. Both sides make the
//! exchanges that they share in the same order, so messages and receives meet.

mod block;
mod classic;
mod collective;
mod collective_spec;
mod goal_text;
mod messages;
mod model;
mod rank;
mod routing;
mod training;
mod tree;

use std::rc::Rc;

pub use block::{Block, Exchange};
pub use classic::{FftSpec, ParameterServerSpec, SparseSpec};
pub use collective::{Algorithm, Collective, Operation, PairBytes, Transport};
pub use collective_spec::{CollectiveKind, CollectiveSpec};
pub use goal_text::write_goal;
pub use messages::{Group, Message, Phase};
pub use model::{MODELS, ModelEntry, ModelSpec};
pub use rank::TrafficRank;
pub use routing::{Assignment, AssignmentKey, Popularity, Routing};
pub use training::{Layout, TensorExchange, TrainingSpec};
pub use tree::{TreeNode, tree_node};

use super::machine::NicMachine;
use super::pattern::ExchangeSpec;
use super::world::{World, WorldError, WorldReport};

/// A generated program of many ranks.
#[derive(Clone, Debug, PartialEq)]
pub enum TrafficSpec {
    /// One collective operation, again and again.
    Collective(CollectiveSpec),
    /// Training or inference of a language model.
    Training(TrainingSpec),
    /// A three-dimensional Fourier transform.
    Fft(FftSpec),
    /// Exchange with a few fixed partners.
    Sparse(SparseSpec),
    /// Workers and servers.
    ParameterServer(ParameterServerSpec),
    /// A pattern of phases.
    Exchange(ExchangeSpec),
}

/// Results of a generated program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficReport {
    /// What the interfaces counted.
    pub world: WorldReport,
    /// Messages that all ranks sent.
    pub messages: u64,
    /// Bytes that all ranks sent.
    pub bytes: u64,
}

/// The blocks of one rank, made one by one.
pub type Blocks = Box<dyn Iterator<Item = Block>>;

impl TrafficSpec {
    /// Whether the numbers fit together.
    ///
    /// # Errors
    /// The first thing that does not, with the names of the keys.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Collective(spec) => spec.check(),
            Self::Training(spec) => spec.check(),
            Self::Fft(spec) => spec.check(),
            Self::Sparse(_) | Self::Exchange(_) => Ok(()),
            Self::ParameterServer(spec) => spec.check(),
        }
    }

    /// How many ranks it has.
    pub fn ranks(&self) -> u32 {
        match self {
            Self::Collective(spec) => spec.ranks,
            Self::Training(spec) => spec.layout.ranks(),
            Self::Fft(spec) => spec.rows * spec.columns,
            Self::Sparse(spec) => spec.ranks,
            Self::ParameterServer(spec) => spec.workers + spec.servers,
            Self::Exchange(spec) => spec.ranks,
        }
    }

    /// Which token goes to which expert; ranks that run together share it. It keeps `kept` exchanges.
    pub fn routing(&self, kept: usize) -> Rc<Routing> {
        let (seed, popularity) = match self {
            Self::Training(spec) => (spec.seed, spec.popularity),
            _ => (0, Popularity::Uniform),
        };
        Rc::new(Routing::new(seed, popularity, kept))
    }

    /// What `rank` does.
    pub fn blocks(&self, rank: u32, routing: &Rc<Routing>) -> Blocks {
        match self {
            Self::Collective(spec) => Box::new(spec.blocks()),
            Self::Training(spec) => Box::new(spec.blocks(rank, routing)),
            Self::Fft(spec) => Box::new(spec.blocks(rank)),
            Self::Sparse(spec) => Box::new(spec.blocks(rank)),
            Self::ParameterServer(spec) => Box::new(spec.blocks(rank)),
            Self::Exchange(spec) => Box::new(spec.blocks(rank)),
        }
    }

    /// Runs it on nodes of `machine`.
    ///
    /// # Errors
    /// A value of the machine is impossible, or it has too few nodes.
    pub fn run(&self, machine: &NicMachine) -> Result<TrafficReport, WorldError> {
        let routing = self.routing(self.exchanges_at_once());
        let programs =
            (0..self.ranks()).map(|rank| TrafficRank::new(rank, self.blocks(rank, &routing)));
        let mut world = World::new(machine, programs)?;
        let mut report = TrafficReport {
            world: world.run()?,
            ..TrafficReport::default()
        };
        for program in (0..self.ranks()).filter_map(|rank| world.program(rank)) {
            let (messages, bytes) = program.sent();
            report.messages += messages;
            report.bytes += bytes;
        }
        Ok(report)
    }

    /// Exchanges between experts that ranks are in at about the same time: two for each group of experts.
    fn exchanges_at_once(&self) -> usize {
        match self {
            Self::Training(spec) => 2 * (spec.layout.ranks() / spec.layout.expert.max(1)) as usize,
            _ => 1,
        }
    }
}
