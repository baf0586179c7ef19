//! The parts of a generated program.

use pagemill_types::Picos;

use super::super::pattern::ExchangeRank;
use super::collective::Collective;
use super::messages::Phase;

/// One step of a rank: computation and an exchange side by side. The next block starts when both are over.
#[derive(Clone, Debug)]
pub struct Block {
    /// Computation, on a processor that communication does not use.
    pub compute: Picos,
    /// Communication.
    pub exchange: Exchange,
}

/// The communication of a block.
#[derive(Clone, Debug)]
pub enum Exchange {
    /// None.
    Nothing,
    /// A collective operation of a group.
    Collective(Collective),
    /// Messages that start together; the block ends when all are over.
    Messages(Phase),
    /// Messages that the block starts and does not wait for.
    Detached(Phase),
    /// A phase of an exchange pattern.
    Pattern(Box<ExchangeRank>),
}

impl Block {
    /// Computation alone.
    pub fn compute(span: Picos) -> Self {
        Self {
            compute: span,
            exchange: Exchange::Nothing,
        }
    }

    /// Communication alone.
    pub fn exchange(exchange: Exchange) -> Self {
        Self {
            compute: Picos::ZERO,
            exchange,
        }
    }
}

impl Exchange {
    /// Sequences of phases that run side by side.
    pub fn lanes(&self) -> u32 {
        match self {
            Self::Nothing => 0,
            Self::Collective(collective) => collective.lanes(),
            Self::Messages(_) | Self::Detached(_) | Self::Pattern(_) => 1,
        }
    }

    /// Adds the messages of phase `index` of `lane` at `rank` to `phase`; says whether there is such a phase.
    pub fn phase(&self, rank: u32, lane: u32, index: u64, phase: &mut Phase) -> bool {
        match self {
            Self::Nothing => false,
            Self::Collective(collective) => collective.phase(rank, lane, index, phase),
            Self::Messages(messages) | Self::Detached(messages) => {
                if index == 0 {
                    phase.receives.extend(&messages.receives);
                    phase.sends.extend(&messages.sends);
                }
                index == 0
            }
            Self::Pattern(pattern) => {
                if index == 0 {
                    pattern.add_to(phase);
                }
                index == 0
            }
        }
    }

    /// Whether the block ends before its messages are over.
    pub fn is_detached(&self) -> bool {
        matches!(self, Self::Detached(_))
    }
}
