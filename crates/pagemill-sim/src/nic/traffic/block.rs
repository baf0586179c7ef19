//! The parts of a generated program.

use pagemill_types::Picos;

use super::super::pattern::ExchangeRank;
use super::collective::Collective;

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

/// Messages that start together: receives first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// Messages of others.
    pub receives: Vec<Message>,
    /// Own messages.
    pub sends: Vec<Message>,
}

/// A message, as one of its two ends sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The other rank.
    pub peer: u32,
    /// What it is matched by, together with the order of messages.
    pub tag: u32,
    /// Length in bytes.
    pub bytes: u64,
    /// Where the data lies at this end.
    pub address: u64,
}

/// Ranks at equal distances: `first`, `first + stride`, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The rank at position 0.
    pub first: u32,
    /// Distance of two positions.
    pub stride: u32,
    /// How many ranks it has.
    pub size: u32,
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

impl Phase {
    /// Takes all messages out.
    pub fn clear(&mut self) {
        self.receives.clear();
        self.sends.clear();
    }

    /// Adds a receive, unless it is empty.
    pub fn receive(&mut self, message: Message) {
        if message.bytes > 0 {
            self.receives.push(message);
        }
    }

    /// Adds a send, unless it is empty.
    pub fn send(&mut self, message: Message) {
        if message.bytes > 0 {
            self.sends.push(message);
        }
    }

    /// Messages of both kinds.
    pub fn messages(&self) -> usize {
        self.receives.len() + self.sends.len()
    }
}

impl Group {
    /// All of `ranks` ranks.
    pub fn all(ranks: u32) -> Self {
        Self {
            first: 0,
            stride: 1,
            size: ranks,
        }
    }

    /// The rank at `position`.
    pub fn rank(&self, position: u32) -> u32 {
        self.first + position * self.stride
    }

    /// Where `rank`, which has to be in the group, is.
    pub fn position(&self, rank: u32) -> u32 {
        (rank - self.first) / self.stride.max(1)
    }
}
